// SPDX-License-Identifier: Apache-2.0

// Package chart renders Helm charts out of a tree as helm-controller installs them,
// with the same engine and without a cluster: lookups find nothing, and no name of a
// host is resolved.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

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

// Chart is a chart that can be rendered.
type Chart struct{ chart *chartv2.Chart }

// Release is what a chart is installed as.
type Release struct {
	Name, Namespace string
	Values          map[string]any
	// Minor of Kubernetes that charts ask for.
	Minor string
}

// Manifest is a rendered file, with what stands in it.
type Manifest struct {
	// Name of the template, in the chart.
	Name    string
	Content string
}

// Load reads a chart from a directory or an archive (.tgz) of a tree.
func Load(t *tree.Tree, name string) (*Chart, error) {
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
	return &Chart{c}, nil
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
	all, err := commonutil.ToRenderValues(c.chart, values, common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c.chart, all)
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

// vendored refuses a chart without what it depends on: nothing is fetched.
func (c *Chart) vendored() error {
	for _, d := range c.chart.Metadata.Dependencies {
		if !slices.ContainsFunc(c.chart.Dependencies(), func(sub *chartv2.Chart) bool { return sub.Name() == d.Name }) {
			return fmt.Errorf("it depends on chart %s, which is not in its charts directory: vendor it with `helm dependency update`", d.Name)
		}
	}
	return nil
}

// Merge lays values over others, as valuesFrom and values follow each other.
func Merge(under, over map[string]any) map[string]any { return loader.MergeMaps(under, over) }

// Set sets a value at a path in Helm's notation, as targetPath of valuesFrom does.
func Set(values map[string]any, path, value string) error {
	return strvals.ParseInto(path+"="+value, values)
}
