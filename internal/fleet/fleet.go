// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
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

	tree *tree
	lock *os.File
	// before are the tenants of each overlay, by path, when it was read.
	before map[string]map[string]bool
	// leaving is set by what takes tenants from clusters on purpose.
	leaving bool
	wishes  []wish
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
type platformSync struct {
	name, path string
	suspended  bool
	file       string
	line       int
}

// Load reads the fleet in dir.
func Load(dir string) (*Fleet, error) {
	if !exists(dir) {
		return nil, fmt.Errorf("fleet %s: no such file or directory", dir)
	}
	if !isDirectory(dir) {
		return nil, fmt.Errorf("fleet %s is not a directory", dir)
	}
	f := &Fleet{Dir: dir, tree: newTree(dir)}
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

// Find is the fleet that a directory is in: the nearest directory at or above it
// with a FileName or a clusters directory. "" when there is none.
func Find(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if exists(filepath.Join(abs, FileName)) || exists(filepath.Join(abs, clustersDir)) {
			return abs
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			return ""
		}
		abs = parent
	}
}

// read makes the model of what is in the tree.
func (f *Fleet) read() error {
	f.Clusters, f.Groups, f.Overlays, f.Tenants = nil, nil, nil, nil
	if err := f.readConfig(); err != nil {
		return err
	}
	if err := f.readClusters(); err != nil {
		return err
	}
	if err := f.readGroups(); err != nil {
		return err
	}
	return f.readTenants()
}

func (f *Fleet) readClusters() error {
	names := f.directories(clustersDir)
	if len(names) == 0 && !f.tree.isDir(clustersDir) {
		return &Error{File: f.Dir, What: "there is no clusters directory: a fleet keeps one directory for each cluster in it"}
	}
	if len(names) == 0 {
		return &Error{File: f.tree.full(clustersDir), What: "it holds no cluster: add a directory for one"}
	}
	kustomizations := collectorOf(f.tree, "kustomize.toolkit.fluxcd.io", "Kustomization")
	repositories := collectorOf(f.tree, "source.toolkit.fluxcd.io", "GitRepository")
	for _, name := range names {
		c := Cluster{Name: name, Path: path.Join(clustersDir, name), Group: f.groupOf(name)}
		sources, err := repositories.collect(c.Path)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(sources, func(d document) bool { return d.name == fluxSystem }); i >= 0 {
			c.URL, c.Branch = text(sources[i].node, "spec", "url"), text(sources[i].node, "spec", "ref", "branch")
		}
		if c.syncs, err = f.syncsOf(kustomizations, c.Path); err != nil {
			return err
		}
		f.Clusters = append(f.Clusters, c)
	}
	return nil
}

// directories are the directories in one, without hidden ones.
func (f *Fleet) directories(dir string) []string {
	var all []string
	for _, n := range f.tree.list(dir) {
		if name, ok := strings.CutSuffix(n, "/"); ok && !strings.HasPrefix(n, ".") {
			all = append(all, name)
		}
	}
	slices.Sort(all) // a slash sorts after a dash, and these have none
	return all
}

// groupOf is the group that a cluster's kustomization names.
func (f *Fleet) groupOf(cluster string) string {
	dir := path.Join(clustersDir, cluster)
	documents, err := f.tree.documents(f.tree.kustomizationIn(dir))
	if err != nil || len(documents) == 0 {
		return "" // that it can't be read is told where it matters
	}
	for _, r := range items(documents[0], "resources") {
		if group, ok := strings.CutPrefix(path.Join(dir, r.Value), groupsDir+"/"); ok {
			return group
		}
	}
	return ""
}

// syncsOf are the Flux Kustomizations that a cluster gets from its directory, and
// those that they bring from other directories of the fleet.
func (f *Fleet) syncsOf(c *collector, dir string) ([]platformSync, error) {
	var all []platformSync
	seen := map[string]bool{dir: true}
	for next := []string{dir}; len(next) > 0; next = next[1:] {
		found, err := c.collect(next[0])
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			content, err := f.tree.effective(d)
			if err != nil {
				return nil, err
			}
			s, ours, err := platformSyncOf(content)
			if err != nil {
				return nil, &Error{File: f.tree.full(d.file), Line: d.node.Line, What: err.Error()}
			}
			if !ours {
				continue
			}
			s.file, s.line = d.file, d.node.Line
			all = append(all, s)
			// Tenants' own syncs are not the platform's.
			if !seen[s.path] && !strings.HasPrefix(s.path, tenantsDir+"/") && f.tree.isDir(s.path) {
				seen[s.path] = true
				next = append(next, s.path)
			}
		}
	}
	return all, nil
}

func (f *Fleet) readTenants() error {
	c := collectorOf(f.tree, v1alpha1.Group, "Tenant")
	byName := map[string]*Tenant{}
	add := func(d document) (*Tenant, error) {
		if d.name == "" {
			return nil, &Error{File: f.tree.full(d.file), Line: d.node.Line, What: "the Tenant has no metadata.name"}
		}
		t := byName[d.name]
		if t == nil {
			t = &Tenant{Name: d.name, File: d.file, Line: d.node.Line}
			byName[d.name] = t
		}
		if !slices.ContainsFunc(t.declared, func(o document) bool { return o.node == d.node }) {
			d.patches, d.overlay = nil, ""
			t.declared = append(t.declared, d)
		}
		return t, nil
	}
	overlays, err := f.readOverlays(c)
	if err != nil {
		return err
	}
	f.Overlays = overlays
	for _, o := range overlays {
		for _, d := range o.tenants {
			d.overlay = o.Path
			t, err := add(d)
			if err != nil {
				return err
			}
			place := Place{Overlay: o.Name, Path: o.Path, Clusters: o.Clusters, document: d}
			for _, p := range d.patches {
				place.Patches = append(place.Patches, p.file)
			}
			t.Places = append(t.Places, place)
		}
	}
	for _, name := range f.directories(baseDir) {
		found, err := c.collect(path.Join(baseDir, name))
		if err != nil {
			return err
		}
		for _, d := range found {
			if _, err := add(d); err != nil {
				return err
			}
		}
	}
	for _, t := range byName {
		f.Tenants = append(f.Tenants, *t)
	}
	slices.SortFunc(f.Tenants, func(a, b Tenant) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// readOverlays finds the directories of tenants that clusters apply.
func (f *Fleet) readOverlays(c *collector) ([]Overlay, error) {
	byPath := map[string]*Overlay{}
	for i := range f.Clusters {
		cluster := &f.Clusters[i]
		for _, s := range cluster.syncs {
			found, err := c.collect(s.path)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 && !strings.HasPrefix(s.path, tenantsDir+"/") {
				continue
			}
			o := byPath[s.path]
			if o == nil {
				o = &Overlay{Name: path.Base(s.path), Path: s.path, tenants: found}
				byPath[s.path] = o
			}
			if !slices.Contains(o.Clusters, cluster.Name) {
				o.Clusters = append(o.Clusters, cluster.Name)
				cluster.Overlays = append(cluster.Overlays, s.path)
			}
		}
	}
	// Overlays that no cluster applies yet, as those of a group without clusters.
	for _, name := range f.directories(tenantsDir) {
		dir := path.Join(tenantsDir, name)
		if dir == baseDir || byPath[dir] != nil || f.tree.kustomizationIn(dir) == "" {
			continue
		}
		found, err := c.collect(dir)
		if err != nil {
			return nil, err
		}
		byPath[dir] = &Overlay{Name: name, Path: dir, tenants: found}
	}
	var all []Overlay
	for _, o := range byPath {
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b Overlay) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
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
		if e.IsDir() || !isYAML(e.Name()) {
			return nil
		}
		name, err := filepath.Rel(f.Dir, full)
		if err != nil {
			return err
		}
		_, err = f.tree.documents(filepath.ToSlash(name))
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
