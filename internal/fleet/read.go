// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"path"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

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
	if len(names) == 0 && !f.tree.IsDir(clustersDir) {
		return &tree.Error{File: f.Dir, What: "there is no clusters directory: a fleet keeps one directory for each cluster in it"}
	}
	if len(names) == 0 {
		return &tree.Error{File: f.tree.Full(clustersDir), What: "it holds no cluster: add a directory for one"}
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
			c.URL, c.Branch = tree.Text(sources[i].node, "spec", "url"), tree.Text(sources[i].node, "spec", "ref", "branch")
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
	for _, n := range f.tree.List(dir) {
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
	documents, err := f.tree.Documents(f.tree.KustomizationIn(dir))
	if err != nil || len(documents) == 0 {
		return "" // that it can't be read is told where it matters
	}
	for _, r := range tree.Items(documents[0], "resources") {
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
			content, err := effective(f.tree, d)
			if err != nil {
				return nil, err
			}
			s, ours, err := platformSyncOf(content)
			if err != nil {
				return nil, &tree.Error{File: f.tree.Full(d.file), Line: d.node.Line, What: err.Error()}
			}
			if !ours {
				continue
			}
			all = append(all, s)
			// Tenants' own syncs are not the platform's.
			if !seen[s.path] && !strings.HasPrefix(s.path, tenantsDir+"/") && f.tree.IsDir(s.path) {
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
			return nil, &tree.Error{File: f.tree.Full(d.file), Line: d.node.Line, What: "the Tenant has no metadata.name"}
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
		if dir == baseDir || byPath[dir] != nil || f.tree.KustomizationIn(dir) == "" {
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
