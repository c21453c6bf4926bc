// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"go.yaml.in/yaml/v3"
)

// FileName is the file at a fleet's root that says how to run it on a laptop, and how
// to reach its clusters.
const FileName = "tenantry.yaml"

// Config is the content of FileName.
type Config struct {
	// APIVersion and Kind are tenantry.dev/v1alpha1 and Fleet.
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Contexts of the kubeconfig by the names of the clusters, for commands that ask
	// all clusters of the fleet.
	Contexts map[string]string `yaml:"contexts"`
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
	// Branch under which the directory is served, beside those that sources ask for.
	// Default: main.
	Branch string `yaml:"branch"`
	// Tag under which it is served as an OCI artifact, beside latest: for sources that ask
	// for a range of versions.
	Tag string `yaml:"tag"`
}

// schemes are those of URLs that a directory can stand in for.
var schemes = []string{"https", "http", "ssh", "oci"}

// ReadConfig reads the FileName of a directory, and nothing else of it.
func ReadConfig(dir string) (Config, error) {
	f := &Fleet{Dir: dir, tree: tree.New(dir)}
	err := f.readConfig()
	return f.Config, err
}

// readConfig reads FileName, which need not be there.
func (f *Fleet) readConfig() error {
	f.Config = Config{}
	full := f.tree.Full(FileName)
	content, err := f.tree.Read(FileName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&f.Config); err != nil {
		return tree.YAMLError(full, err)
	}
	if f.Config.Kind != "Fleet" || f.Config.APIVersion != "tenantry.dev/v1alpha1" {
		return &tree.Error{File: full, Line: 1, What: "want apiVersion: tenantry.dev/v1alpha1 and kind: Fleet"}
	}
	for _, r := range f.Config.Local.Repositories {
		if u, err := url.Parse(r.URL); err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" {
			return &tree.Error{File: full, Line: tree.LineOf(content, r.URL), What: fmt.Sprintf("repository %q: want a URL like https://git.example.com/team/repository, with %s", r.URL, strings.Join(schemes, ", "))}
		}
		dir := filepath.Join(f.Dir, r.Dir)
		if info, err := os.Stat(dir); filepath.Clean(dir) != filepath.Clean(f.Dir) && (err != nil || !info.IsDir()) {
			return &tree.Error{File: full, Line: tree.LineOf(content, r.Dir), What: fmt.Sprintf("repository %s: %s is not a directory", r.URL, dir)}
		}
	}
	clusters := f.directories(clustersDir)
	if c := f.Config.Local.Cluster; c != "" && !slices.Contains(clusters, c) {
		return &tree.Error{File: full, Line: tree.LineOf(content, c), What: fmt.Sprintf("cluster %s: there is no directory clusters/%s", c, c)}
	}
	for c := range f.Config.Contexts {
		if !slices.Contains(clusters, c) {
			return &tree.Error{File: full, Line: tree.LineOf(content, c), What: fmt.Sprintf("contexts: there is no directory clusters/%s", c)}
		}
	}
	return nil
}
