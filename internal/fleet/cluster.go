// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// CreateCluster makes a cluster's directory: what Flux starts from, and the group that
// it inherits. URL and branch are those of the fleet's other clusters.
func (f *Fleet) CreateCluster(name, group string) error {
	if err := checkName("cluster", name); err != nil {
		return err
	}
	if c := f.cluster(name); c != nil {
		if c.Group == group {
			return nil
		}
		of := "stands alone"
		if c.Group != "" {
			of = "is of group " + c.Group
		}
		return fmt.Errorf("cluster %s is there, and %s: to move it, change %s/kustomization.yaml", name, of, c.Path)
	}
	if f.group(group) == nil {
		return f.noGroup(group)
	}
	url, branch, err := f.repository()
	if err != nil {
		return err
	}
	if g := f.group(name); g != nil && name != group {
		return fmt.Errorf("cluster %s: a group has this name, and its overlay tenants/%s; choose another, or create it in that group", name, name)
	}
	return f.writeCluster(name, group, url, branch)
}

// repository is where the fleet's clusters sync from.
func (f *Fleet) repository() (url, branch string, err error) {
	for _, c := range f.Clusters {
		if c.URL != "" && c.Branch != "" {
			return c.URL, c.Branch, nil
		}
	}
	return "", "", errors.New("no cluster of the fleet says which repository it syncs from: want a GitRepository flux-system with a branch in its flux-system directory")
}

func (f *Fleet) writeCluster(name, group, url, branch string) error {
	if err := checkName("cluster", name); err != nil {
		return err
	}
	return scaffolded(f.tree, "cluster", path.Join(clustersDir, name), struct{ Name, Group, URL, Branch string }{name, group, url, branch})
}

// DeleteCluster removes a cluster's directory and the overlay that is its own.
func (f *Fleet) DeleteCluster(name string) error {
	c := f.cluster(name)
	switch {
	case c == nil:
		return f.noCluster(name)
	case len(f.Clusters) == 1:
		return fmt.Errorf("cluster %s is the fleet's only one: a fleet has at least one", name)
	}
	f.leavingAll = true
	remove := []string{c.Path}
	own := path.Join(tenantsDir, name)
	if f.group(name) == nil && slices.Contains(c.Overlays, own) {
		for _, o := range f.Overlays {
			if o.Path != own || len(o.Clusters) != 1 {
				continue
			}
			for _, t := range f.Tenants {
				if len(t.Places) == 1 && t.Places[0].Path == own {
					return fmt.Errorf("tenant %s lives on cluster %s alone: delete it first, or give it another place", t.Name, name)
				}
			}
			remove = append(remove, own)
		}
	}
	for _, dir := range remove {
		for _, file := range f.tree.Files(dir) {
			f.tree.Remove(file)
		}
	}
	if f.Config.Local.Cluster != name && f.Config.Contexts[name] == "" {
		return nil
	}
	return f.tree.Edit(FileName, 0, func(k *yaml.Node) error {
		if f.Config.Contexts[name] != "" {
			tree.Without(k, "contexts", name)
			if contexts := tree.Field(k, "contexts"); contexts != nil && len(contexts.Content) == 0 {
				tree.Without(k, "contexts")
			}
		}
		if cluster := tree.Field(k, "local", "cluster"); f.Config.Local.Cluster == name {
			cluster.Value = f.Clusters[slices.IndexFunc(f.Clusters, func(c Cluster) bool { return c.Name != name })].Name
		}
		return nil
	})
}

// disown takes away overlays of single clusters that hold nothing of their own any more.
func (f *Fleet) disown() error {
	for _, c := range f.Clusters {
		own, patch := path.Join(tenantsDir, c.Name), path.Join(c.Path, tenantsPatch)
		file := f.tree.KustomizationIn(own)
		if file == "" || f.group(c.Name) != nil || !f.tree.IsFile(patch) || !slices.Equal(f.tree.Files(own), []string{file}) {
			continue
		}
		documents, err := f.tree.Documents(file)
		if err != nil {
			return err
		}
		if len(documents) != 1 || len(tree.Items(documents[0], "resources")) != 1 || !f.buildsOnAnother(own) || len(tree.Items(documents[0], "patches")) > 0 {
			continue
		}
		f.tree.Remove(file)
		f.tree.Remove(patch)
		delete(f.before, own) // the cluster has its group's again, with the same tenants
		if _, err := unregister(f.tree, c.Path, patch); err != nil {
			return err
		}
	}
	return nil
}

// tenantsPatch is the file by which a cluster has an overlay of its own.
const tenantsPatch = "tenants-patch.yaml"

// overlayOf is the overlay from which a cluster gets tenants of its own. One that gets
// its group's alone is given one that builds on it.
func (f *Fleet) overlayOf(name string) (string, error) {
	c := f.cluster(name)
	if c == nil {
		return "", f.noCluster(name)
	}
	own := path.Join(tenantsDir, name)
	for _, o := range f.Overlays {
		if slices.Contains(o.Clusters, name) && (o.Path == own || len(o.Clusters) == 1 && c.Group == "") {
			return o.Path, nil
		}
	}
	sync := slices.IndexFunc(c.syncs, func(s platformSync) bool { return slices.Contains(c.Overlays, s.path) })
	if sync < 0 {
		return "", fmt.Errorf("cluster %s gets no tenants: enable them for its group with `tenantry group enable GROUP tenants`", name)
	}
	if f.tree.IsDir(own) {
		return "", fmt.Errorf("cluster %s: its own tenants would be in %s, which is taken", name, own)
	}
	data := struct{ Name, From, Sync string }{name, path.Base(c.syncs[sync].path), c.syncs[sync].name}
	if err := errors.Join(
		scaffoldedFile(f.tree, "overlay/kustomization.yaml", path.Join(own, "kustomization.yaml"), data),
		scaffoldedFile(f.tree, "overlay/tenants-patch.yaml", path.Join(c.Path, tenantsPatch), data),
	); err != nil {
		return "", err
	}
	return own, register(f.tree, c.Path, "", tenantsPatch)
}
