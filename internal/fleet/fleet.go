// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"
)

// The directories of a fleet.
const (
	clustersDir       = "clusters"
	groupsDir         = "groups"
	tenantsDir        = "tenants"
	baseDir           = "tenants/base"
	infrastructureDir = "infrastructure"
)

// Fleet is a fleet repository as it stands in the working tree, with the changes
// made to it since and not written yet.
type Fleet struct {
	// Dir is its root.
	Dir string
	// Config is what FileName says.
	Config Config
	// Clusters, Groups, Overlays and Tenants are sorted by name.
	Clusters []Cluster
	Groups   []Group
	Overlays []Overlay
	Tenants  []Tenant

	// Kept are files that Init would have written and that were there.
	Kept []string

	tree *tree.Tree
	lock *os.File
	// before are the tenants of each overlay, by path, when it was read.
	before map[string]map[string]bool
	// arriving and leaving are tenants that a change puts into overlays or takes out of
	// them on purpose; everybody leaves when leavingAll is set.
	arriving, leaving map[string]bool
	leavingAll        bool
	wishes            []wish
}

// Cluster is a directory under clusters/.
type Cluster struct {
	Name string `json:"name"`
	// Group that it inherits from; "" when it stands alone.
	Group string `json:"group,omitempty"`
	// Path of its directory in the repository.
	Path string `json:"path"`
	// Overlays are the directories from which it gets tenants.
	Overlays []string `json:"overlays,omitempty"`
	// URL and Branch of the repository that it syncs from.
	URL    string `json:"url,omitempty"`
	Branch string `json:"branch,omitempty"`

	syncs []platformSync
}

// Overlay is a directory of tenants that clusters apply.
type Overlay struct {
	// Name is the last part of Path, as staging.
	Name string `json:"name"`
	Path string `json:"path"`
	// Clusters that apply it.
	Clusters []string `json:"clusters"`

	tenants []document
}

// Tenant is one tenant of the fleet, wherever it lives.
type Tenant struct {
	Name string `json:"name"`
	// File and Line where it is declared.
	File string `json:"file"`
	Line int    `json:"line"`
	// Places are where it lives; a tenant that no overlay names lives nowhere.
	Places []Place `json:"places,omitempty"`

	declared []document // more than one when overlays declare it each for itself
}

// Place is an overlay that a tenant lives in.
type Place struct {
	Overlay  string   `json:"overlay"`
	Path     string   `json:"path"`
	Clusters []string `json:"clusters,omitempty"`
	// Patches are the files that change the tenant there.
	Patches []string `json:"patches,omitempty"`

	document document
}

// platformSync is a Flux Kustomization that a cluster applies of the fleet itself.
type platformSync struct{ name, path string }

// Load reads the fleet in dir.
func Load(dir string) (*Fleet, error) {
	if !exists(dir) {
		return nil, fmt.Errorf("fleet %s: no such file or directory", dir)
	}
	if !isDirectory(dir) {
		return nil, fmt.Errorf("fleet %s is not a directory", dir)
	}
	f := &Fleet{Dir: dir, tree: tree.New(dir), arriving: map[string]bool{}, leaving: map[string]bool{}}
	if err := f.read(); err != nil {
		return nil, err
	}
	f.before = f.population()
	return f, nil
}

// population is who lives in which overlay.
func (f *Fleet) population() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, o := range f.Overlays {
		all[o.Path] = map[string]bool{}
		for _, d := range o.tenants {
			all[o.Path][d.name] = true
		}
	}
	return all
}

// isFleet tells whether a directory has a FileName, or clusters and tenants.
func isFleet(dir string) bool {
	return exists(filepath.Join(dir, FileName)) || isDirectory(filepath.Join(dir, clustersDir)) && isDirectory(filepath.Join(dir, tenantsDir))
}

// Find is the fleet that a directory is in: the nearest directory at or above it that
// looks like one. "" when there is none.
func Find(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if isFleet(abs) {
			return abs
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			return ""
		}
		abs = parent
	}
}

// Cluster is the cluster to run: the one named, else the one that the fleet's file
// says, else the only one.
func (f *Fleet) Cluster(name string) (string, error) {
	switch {
	case name != "" && f.cluster(name) != nil:
		return name, nil
	case name != "":
		return "", f.noCluster(name)
	case f.Config.Local.Cluster != "":
		return f.Config.Local.Cluster, nil
	case len(f.Clusters) == 1:
		return f.Clusters[0].Name, nil
	default:
		return "", fmt.Errorf("the fleet has several clusters (%s): choose one with --cluster, or set local.cluster in %s",
			strings.Join(f.ClusterNames(), ", "), filepath.Join(f.Dir, FileName))
	}
}

func (f *Fleet) noCluster(name string) error {
	return fmt.Errorf("the fleet has no cluster %s; it has %s", name, strings.Join(f.ClusterNames(), ", "))
}

func (f *Fleet) cluster(name string) *Cluster {
	i := slices.IndexFunc(f.Clusters, func(c Cluster) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Clusters[i]
}

// ClusterNames are the names of the clusters, sorted.
func (f *Fleet) ClusterNames() []string {
	var all []string
	for _, c := range f.Clusters {
		all = append(all, c.Name)
	}
	return all
}

// ClusterPath is a cluster's directory of Flux's own objects.
func (f *Fleet) ClusterPath(cluster string) string {
	return filepath.Join(f.Dir, clustersDir, cluster, fluxSystem)
}

// ParseAll reads every YAML file, so that a broken one is named before anything starts.
func (f *Fleet) ParseAll() error {
	return filepath.WalkDir(f.Dir, func(full string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && full != f.Dir {
			return filepath.SkipDir
		}
		if e.IsDir() && e.Name() == "templates" && exists(filepath.Join(filepath.Dir(full), "Chart.yaml")) {
			return filepath.SkipDir // a chart's templates are no YAML yet
		}
		if e.IsDir() || !tree.IsYAML(e.Name()) {
			return nil
		}
		name, err := filepath.Rel(f.Dir, full)
		if err != nil {
			return err
		}
		_, err = f.tree.Documents(filepath.ToSlash(name))
		return err
	})
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// TenantsOf are the names of the tenants that a cluster gets, sorted.
func (f *Fleet) TenantsOf(cluster string) []string {
	all := []string{}
	for _, t := range f.Tenants {
		if slices.ContainsFunc(t.Places, func(p Place) bool { return slices.Contains(p.Clusters, cluster) }) {
			all = append(all, t.Name)
		}
	}
	return all
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
