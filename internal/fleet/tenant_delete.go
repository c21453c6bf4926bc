// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"path"
	"slices"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// DeleteTenant takes a tenant out of the overlays named, by path, or out of the fleet
// when none is. Its files go, also those that the platform put beside the Tenant.
func (f *Fleet) DeleteTenant(name string, overlays ...string) error {
	t := f.Tenant(name)
	if t == nil {
		return f.NoTenant(name)
	}
	f.leaving[name] = true
	for _, p := range t.Places {
		if len(overlays) > 0 && !slices.Contains(overlays, p.Path) {
			continue
		}
		for _, patch := range p.document.patches {
			if path.Dir(patch.dir) == baseDir || len(overlays) > 0 && patch.dir != p.Path {
				continue // it goes with the base, or is of what the overlay builds on
			}
			if err := f.dropPatch(t, patch); err != nil {
				return err
			}
		}
		if len(overlays) > 0 {
			if err := f.leave(t, p.Path); err != nil {
				return err
			}
		}
	}
	if len(overlays) > 0 {
		return f.disown()
	}
	for _, d := range t.declared {
		if err := f.dropDeclared(t, d); err != nil {
			return err
		}
	}
	if !f.tree.IsDir(baseDir) {
		f.tree.Put(path.Join(baseDir, ".gitkeep"), nil) // Git keeps no directory that is empty
	}
	return f.disown()
}

// dropPatch removes a file with patches of this tenant alone, wherever it is named.
func (f *Fleet) dropPatch(t *Tenant, p patch) error {
	if p.node.Kind == yaml.SequenceNode || p.exact != t.Name || f.tree.KustomizationIn(p.dir) == p.file {
		if p.exact == t.Name {
			return &tree.Error{File: f.tree.Full(p.file), Line: p.line, What: fmt.Sprintf("a patch of tenant %s stands here among others: take it out first", t.Name)}
		}
		return nil // it is for other tenants too, and stays for them
	}
	if !f.tree.IsFile(p.file) {
		return nil // it went with another overlay
	}
	if err := f.alone(t, p.file, true); err != nil {
		return err
	}
	f.tree.Remove(p.file)
	return f.unregisterEverywhere(p.file)
}

// dropDeclared removes the directory in base that is the tenant's, or the file.
func (f *Fleet) dropDeclared(t *Tenant, d document) error {
	target := d.file
	if dir := path.Dir(d.file); path.Dir(dir) == baseDir {
		target = dir
	}
	files := []string{target}
	if target != d.file {
		files = f.tree.Files(target)
	}
	for _, file := range files {
		if err := f.alone(t, file, target == d.file); err != nil {
			return err
		}
		f.tree.Remove(file)
	}
	return f.unregisterEverywhere(target)
}

// alone refuses a file that holds other tenants too, or with strict anything else.
func (f *Fleet) alone(t *Tenant, file string, strict bool) error {
	if !tree.IsYAML(file) {
		return nil
	}
	documents, err := f.tree.Documents(file)
	if err != nil {
		return err
	}
	for _, d := range tree.Flattened(documents) {
		kind, name := tree.Text(d, "kind"), tree.Text(d, "metadata", "name")
		if kind == "Tenant" && name != t.Name || strict && kind != "Tenant" {
			return &tree.Error{File: f.tree.Full(file), Line: d.Line, What: fmt.Sprintf("it holds %s %s beside tenant %s: take the tenant out of it by hand", kind, name, t.Name)}
		}
	}
	return nil
}

// unregisterEverywhere takes a file or a directory out of every kustomization of the tenants.
func (f *Fleet) unregisterEverywhere(target string) error {
	for _, dir := range f.kustomizationsOfTenants() {
		if _, err := unregister(f.tree, dir, target); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) kustomizationsOfTenants() []string {
	all := []string{tenantsDir, baseDir}
	for _, o := range f.Overlays {
		all = append(all, o.Path)
	}
	for _, name := range f.directories(tenantsDir) {
		all = append(all, path.Join(tenantsDir, name))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// leave takes a tenant out of one overlay.
func (f *Fleet) leave(t *Tenant, overlay string) error {
	for _, d := range t.declared {
		for _, target := range []string{d.file, path.Dir(d.file)} {
			gone, err := unregister(f.tree, overlay, target)
			if err != nil || gone {
				return err
			}
		}
	}
	return fmt.Errorf("tenant %s comes to %s by way of what that builds on: take it out there", t.Name, overlay)
}
