// SPDX-License-Identifier: Apache-2.0

// Package fleet reads a fleet repository: the directory in which a platform keeps
// its clusters, their infrastructure and their tenants.
package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FileName is the file at a fleet's root that says how to run it on a laptop.
const FileName = "tenantry.yaml"

// Fleet is a fleet repository.
type Fleet struct {
	// Dir is its root.
	Dir string
	// Clusters are the directories under clusters/, sorted.
	Clusters []string
	// Config is what FileName says.
	Config Config
}

// Config is the content of FileName.
type Config struct {
	// APIVersion and Kind are tenantry.dev/v1alpha1 and Fleet.
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Local is for `tenantry up`.
	Local Local `yaml:"local"`
}

// Local says how to run the fleet on a laptop.
type Local struct {
	// Cluster to run when none is named.
	Cluster string `yaml:"cluster"`
	// Repositories are served from directories under their outside URLs.
	Repositories []Repository `yaml:"repositories"`
}

// Repository is an outside URL and the directory that stands in for it.
type Repository struct {
	// URL as the fleet's sources name it.
	URL string `yaml:"url"`
	// Dir, relative to the fleet's root.
	Dir string `yaml:"dir"`
	// Branch under which the directory is served. Default: main.
	Branch string `yaml:"branch"`
}

// Error is a mistake in a file of the fleet.
type Error struct {
	File string
	Line int // 0: the file as a whole
	What string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.What
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What)
}

// Load reads the fleet in dir. Every YAML file in it must at least parse.
func Load(dir string) (*Fleet, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("fleet %s is not a directory", dir)
	}
	f := &Fleet{Dir: dir}
	if err := f.readConfig(); err != nil {
		return nil, err
	}
	if err := parseAll(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, "clusters"))
	if err != nil {
		return nil, &Error{File: dir, What: "there is no clusters directory: a fleet keeps one directory for each cluster in it"}
	}
	for _, e := range entries {
		if e.IsDir() {
			f.Clusters = append(f.Clusters, e.Name())
		}
	}
	if len(f.Clusters) == 0 {
		return nil, &Error{File: filepath.Join(dir, "clusters"), What: "it holds no cluster: add a directory for one"}
	}
	return f, nil
}

func (f *Fleet) readConfig() error {
	path := filepath.Join(f.Dir, FileName)
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&f.Config); err != nil {
		return yamlError(path, err)
	}
	if f.Config.Kind != "Fleet" || f.Config.APIVersion != "tenantry.dev/v1alpha1" {
		return &Error{File: path, Line: 1, What: "want apiVersion: tenantry.dev/v1alpha1 and kind: Fleet"}
	}
	for _, r := range f.Config.Local.Repositories {
		if u, err := url.Parse(r.URL); err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			return &Error{File: path, Line: lineOf(content, r.URL), What: fmt.Sprintf("repository %q: want a URL like https://git.example.com/team/repository", r.URL)}
		}
		dir := filepath.Join(f.Dir, r.Dir)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return &Error{File: path, Line: lineOf(content, r.Dir), What: fmt.Sprintf("repository %s: %s is not a directory", r.URL, dir)}
		}
	}
	if c := f.Config.Local.Cluster; c != "" {
		if info, err := os.Stat(filepath.Join(f.Dir, "clusters", c)); err != nil || !info.IsDir() {
			return &Error{File: path, Line: lineOf(content, c), What: fmt.Sprintf("cluster %s: there is no directory clusters/%s", c, c)}
		}
	}
	return nil
}

// Cluster is the cluster to run: the one named, else the one that the fleet's file
// says, else the only one.
func (f *Fleet) Cluster(name string) (string, error) {
	switch {
	case name != "" && slices.Contains(f.Clusters, name):
		return name, nil
	case name != "":
		return "", fmt.Errorf("the fleet has no cluster %s; it has %s", name, strings.Join(f.Clusters, ", "))
	case f.Config.Local.Cluster != "":
		return f.Config.Local.Cluster, nil
	case len(f.Clusters) == 1:
		return f.Clusters[0], nil
	default:
		return "", fmt.Errorf("the fleet has several clusters (%s): choose one with --cluster, or set local.cluster in %s",
			strings.Join(f.Clusters, ", "), filepath.Join(f.Dir, FileName))
	}
}

// ClusterPath is a cluster's directory of Flux's own objects.
func (f *Fleet) ClusterPath(cluster string) string {
	return filepath.Join(f.Dir, "clusters", cluster, "flux-system")
}

// parseAll reads every YAML file, so that a broken one is named before anything starts.
func parseAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != dir {
			return filepath.SkipDir
		}
		if e.IsDir() && e.Name() == "templates" && exists(filepath.Join(filepath.Dir(path), "Chart.yaml")) {
			return filepath.SkipDir // a chart's templates are no YAML yet
		}
		if e.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		d := yaml.NewDecoder(bytes.NewReader(content))
		for {
			var document yaml.Node
			err := d.Decode(&document)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return yamlError(path, err)
			}
		}
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var yamlLine = regexp.MustCompile(`line (\d+): ?`)

// yamlError puts the line of a YAML error where editors look for it.
func yamlError(path string, err error) error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	what = strings.TrimSpace(strings.TrimPrefix(what, "unmarshal errors:"))
	e := &Error{File: path, What: what}
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		_, _ = fmt.Sscan(m[1], &e.Line) // digits, by the expression
		e.What = strings.Replace(what, m[0], "", 1)
	}
	return e
}

func lineOf(content []byte, word string) int {
	for i, line := range bytes.Split(content, []byte("\n")) {
		if word != "" && bytes.Contains(line, []byte(word)) {
			return i + 1
		}
	}
	return 0
}
