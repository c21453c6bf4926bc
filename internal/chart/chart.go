// SPDX-License-Identifier: Apache-2.0

// Package chart renders Helm charts out of a tree as helm-controller installs them,
// with the same engine and without a cluster: lookups find nothing, and no name of a
// host is resolved.
package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/tenantry/tenantry/internal/tree"
)

// ErrNone says that there is no chart at a path.
var ErrNone = errors.New("there is no Chart.yaml")

// Elsewhere says that a chart depends on one that is not in the repository. Nothing is
// fetched.
type Elsewhere struct{ Name, Repository string }

func (e *Elsewhere) Error() string {
	return fmt.Sprintf("its chart depends on %s of %s, which is not at hand: vendor it with `helm dependency update`", e.Name, e.Repository)
}

// Chart is a chart that can be rendered.
type Chart struct{ chart *chartv2.Chart }

// Release is what a chart is installed as.
type Release struct {
	Name, Namespace string
	Values          map[string]any
	// Minor of Kubernetes that charts ask for.
	Minor string
	// Served are the API versions, and kinds as group/version/Kind, that charts ask for
	// beside those of their own CRDs.
	Served []string
}

// Manifest is a rendered file, with what stands in it.
type Manifest struct {
	// Name of the template, in the chart.
	Name    string
	Content string
}

// Load reads a chart from a directory or an archive (.tgz) of a tree.
func Load(t *tree.Tree, name string) (*Chart, error) { return load(t, name, nil) }

func load(t *tree.Tree, name string, above []string) (*Chart, error) {
	name = path.Clean(name)
	if strings.HasSuffix(name, ".tgz") {
		content, err := t.Read(name)
		if err != nil {
			return nil, err
		}
		c, err := loader.LoadArchive(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("chart %s: %w", name, err)
		}
		return &Chart{c}, nil
	}
	if !t.IsFile(path.Join(name, "Chart.yaml")) {
		return nil, ErrNone
	}
	var files []*archive.BufferedFile
	for _, f := range t.Files(name) {
		rel := strings.TrimPrefix(f, name+"/")
		if strings.HasPrefix(path.Base(rel), ".") {
			continue
		}
		content, err := t.Read(f)
		if err != nil {
			return nil, err
		}
		files = append(files, &archive.BufferedFile{Name: rel, Data: content})
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", name, err)
	}
	return &Chart{c}, beside(t, name, c, above)
}

// beside adds the charts of the same repository that a chart depends on, as
// source-controller does when it packages one.
func beside(t *tree.Tree, name string, c *chartv2.Chart, above []string) error {
	if slices.Contains(above, name) {
		return fmt.Errorf("chart %s depends on itself", name)
	}
	for _, d := range c.Metadata.Dependencies {
		rel, ok := strings.CutPrefix(d.Repository, "file://")
		if !ok || vendors(c, d.Name) {
			continue
		}
		at := path.Join(name, rel)
		if strings.HasPrefix(at, "../") {
			return fmt.Errorf("chart %s depends on %s, which is outside of the repository", name, d.Repository)
		}
		sub, err := load(t, at, append(above, name))
		if err != nil {
			return fmt.Errorf("chart %s depends on %s: %w", name, d.Repository, err)
		}
		c.AddDependency(sub.chart)
	}
	return nil
}

func vendors(c *chartv2.Chart, name string) bool {
	return slices.ContainsFunc(c.Dependencies(), func(sub *chartv2.Chart) bool { return sub.Name() == name })
}

// Version of the chart.
func (c *Chart) Version() string {
	if c.chart.Metadata == nil {
		return ""
	}
	return c.chart.Metadata.Version
}

// Render is what the chart installs: its CRDs, then its objects, and its hooks but for
// tests.
func (c *Chart) Render(r Release) ([]Manifest, error) {
	if err := c.vendored(); err != nil {
		return nil, err
	}
	values := common.Values(r.Values)
	if values == nil {
		values = common.Values{}
	}
	if err := chartutil.ProcessDependencies(c.chart, values); err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	if v, err := common.ParseKubeVersion("v" + r.Minor + ".0"); err == nil {
		capabilities.KubeVersion = *v
	}
	capabilities.APIVersions = append(common.VersionSet(slices.Clone(r.Served)), c.defined()...)
	all, err := commonutil.ToRenderValues(c.chart, values, common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	files, err := inTime(func() (map[string]string, error) { return engine.Render(c.chart, all) })
	if err != nil {
		return nil, err
	}
	for name := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
		}
	}
	hooks, manifests, err := releaseutil.SortManifests(files, capabilities.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	var out []Manifest
	for _, crd := range c.chart.CRDObjects() {
		out = append(out, Manifest{crd.Filename, string(crd.File.Data)})
	}
	for _, m := range manifests {
		out = append(out, Manifest{m.Name, m.Content})
	}
	for _, h := range hooks {
		if !slices.Contains(h.Events, releasev1.HookTest) {
			out = append(out, Manifest{h.Path, h.Manifest})
		}
	}
	return out, nil
}

// patience is how long templates may take: they are programs, and may have no end.
const patience = 5 * time.Second

// inTime renders, or gives up. What is given up goes on until the program ends.
func inTime(render func() (map[string]string, error)) (map[string]string, error) {
	type result struct {
		files map[string]string
		err   error
	}
	done := make(chan result, 1)
	go func() {
		files, err := render()
		done <- result{files, err}
	}()
	select {
	case r := <-done:
		return r.files, r.err
	case <-time.After(patience):
		return nil, fmt.Errorf("its templates take longer than %s", patience)
	}
}

// defined are the API versions of the chart's own CRDs.
func (c *Chart) defined() []string {
	var all []string
	for _, o := range c.chart.CRDObjects() {
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct{ Name string }
			}
		}
		if yaml.Unmarshal(o.File.Data, &crd) != nil {
			continue // what is wrong with it is told when it is rendered
		}
		for _, v := range crd.Spec.Versions {
			version := crd.Spec.Group + "/" + v.Name
			all = append(all, version, version+"/"+crd.Spec.Names.Kind)
		}
	}
	return all
}

// random matches templates whose output differs from time to time.
var random = regexp.MustCompile(`\b(rand[A-Z]\w+|gen[A-Z]\w+|uuidv4|now|htpasswd|bcrypt|shuffle|derivePassword)\b`)

// Random tells whether the chart renders something else each time.
func (c *Chart) Random() bool {
	all := append([]*chartv2.Chart{c.chart}, c.chart.Dependencies()...)
	return slices.ContainsFunc(all, func(one *chartv2.Chart) bool {
		return slices.ContainsFunc(one.Templates, func(f *common.File) bool { return random.Match(f.Data) })
	})
}

// vendored refuses a chart without what it depends on: nothing is fetched.
func (c *Chart) vendored() error {
	for _, d := range c.chart.Metadata.Dependencies {
		if !vendors(c.chart, d.Name) {
			return &Elsewhere{d.Name, d.Repository}
		}
	}
	return nil
}

// Replace gives the chart other default values than its values.yaml has.
func (c *Chart) Replace(values map[string]any) { c.chart.Values = values }

// Merge lays values over others, as valuesFrom and values follow each other.
func Merge(under, over map[string]any) map[string]any { return loader.MergeMaps(under, over) }

// Set sets a value at a path in Helm's notation, as targetPath of valuesFrom does.
func Set(values map[string]any, path, value string) error {
	return strvals.ParseInto(path+"="+value, values)
}

// Name of the chart.
func (c *Chart) Name() string { return c.chart.Name() }

// Metadata is what its Chart.yaml says, as JSON.
func (c *Chart) Metadata() ([]byte, error) { return json.Marshal(c.chart.Metadata) }

// Save packages the chart into a directory and returns the archive's path.
func (c *Chart) Save(dir string) (string, error) {
	if err := c.vendored(); err != nil {
		return "", err
	}
	return chartutil.Save(c.chart, dir)
}
