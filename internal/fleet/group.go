// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Group is a directory under groups/: what its clusters have in common.
type Group struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Clusters of the group.
	Clusters []string `json:"clusters"`
	// Parts that are switched on.
	Parts []Part `json:"parts"`
}

// Part is something that is switched on and off for a group.
type Part string

// The parts of a group.
const (
	// Delivery: Flux applies what the group has. Off, everything stays as it is.
	Delivery Part = "delivery"
	// Infrastructure: clusters get Tenantry's walls and grants.
	Infrastructure Part = "infrastructure"
	// Tenants: clusters get the group's tenants.
	Tenants Part = "tenants"
)

// AllParts are the parts of a group.
var AllParts = []Part{Delivery, Infrastructure, Tenants}

// The files of a group that switch its parts.
const (
	infrastructureFile = "infrastructure.yaml"
	tenantsFile        = "tenants.yaml"
	suspendFile        = "suspend.yaml"
)

func (f *Fleet) readGroups() error {
	for _, name := range f.directories(groupsDir) {
		g := Group{Name: name, Path: path.Join(groupsDir, name), Clusters: []string{}, Parts: []Part{}}
		file := f.tree.KustomizationIn(g.Path)
		if file == "" {
			continue
		}
		documents, err := f.tree.Documents(file)
		if err != nil {
			return err
		}
		has := func(list, name string) bool {
			return len(documents) > 0 && slices.ContainsFunc(tree.Items(documents[0], list), leadsTo(g.Path, path.Join(g.Path, name)))
		}
		for part, on := range map[Part]bool{
			Delivery:       !has("patches", suspendFile),
			Infrastructure: has("resources", infrastructureFile),
			Tenants:        has("resources", tenantsFile),
		} {
			if on {
				g.Parts = append(g.Parts, part)
			}
		}
		slices.Sort(g.Parts)
		for _, c := range f.Clusters {
			if c.Group == name {
				g.Clusters = append(g.Clusters, c.Name)
			}
		}
		f.Groups = append(f.Groups, g)
	}
	for _, c := range f.Clusters {
		if c.Group != "" && f.group(c.Group) == nil {
			return &tree.Error{File: f.tree.Full(f.tree.KustomizationIn(c.Path)), What: fmt.Sprintf("it names group %s, which is not there", c.Group)}
		}
	}
	return nil
}

func (f *Fleet) group(name string) *Group {
	i := slices.IndexFunc(f.Groups, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Groups[i]
}

func (f *Fleet) noGroup(name string) error {
	if len(f.Groups) == 0 {
		return fmt.Errorf("the fleet has no group %s, and no other: make one with `tenantry group create %s`", name, name)
	}
	var names []string
	for _, g := range f.Groups {
		names = append(names, g.Name)
	}
	return fmt.Errorf("the fleet has no group %s; it has %s", name, strings.Join(names, ", "))
}

// CreateGroup makes a group with the parts given. One that is there with the very same
// parts is left alone.
func (f *Fleet) CreateGroup(name string, parts []Part) error {
	if err := checkName("group", name); err != nil {
		return err
	}
	if g := f.group(name); g != nil {
		want := slices.Sorted(slices.Values(parts))
		if slices.Equal(g.Parts, want) {
			return nil
		}
		return fmt.Errorf("group %s is there with %s: switch its parts with `tenantry group enable|disable %s PART`", name, partNames(g.Parts), name)
	}
	if dir := path.Join(tenantsDir, name); f.tree.IsDir(dir) {
		return fmt.Errorf("group %s: its tenants would be in %s, which is taken; choose another name", name, dir)
	}
	if len(f.tree.Files(path.Join(infrastructureDir, "tenantry"))) == 0 && slices.Contains(parts, Infrastructure) {
		return &tree.Error{File: f.tree.Full(infrastructureDir), What: "there is no tenantry directory with walls and grants; write them with `tenantry install --export --part walls|grants`, as `tenantry init` does"}
	}
	return f.writeGroup(name, parts)
}

func (f *Fleet) writeGroup(name string, parts []Part) error {
	if err := checkName("group", name); err != nil {
		return err
	}
	if name == path.Base(baseDir) {
		return fmt.Errorf("group %s: its tenants would be in %s, which is what all share; choose another name", name, baseDir)
	}
	dir := path.Join(groupsDir, name)
	data := struct{ Name string }{name}
	if err := scaffoldedFile(f.tree, "group/kustomization.yaml", path.Join(dir, "kustomization.yaml"), data); err != nil {
		return err
	}
	for _, p := range AllParts {
		if slices.Contains(parts, p) != (p == Delivery) {
			if err := f.switchPart(name, p, slices.Contains(parts, p)); err != nil {
				return err
			}
		}
	}
	return nil
}

// SwitchGroup switches a part of a group on or off.
func (f *Fleet) SwitchGroup(name string, part Part, on bool) error {
	g := f.group(name)
	switch {
	case g == nil:
		return f.noGroup(name)
	case !slices.Contains(AllParts, part):
		return fmt.Errorf("part %s is not known; a group has %s", part, partNames(AllParts))
	case slices.Contains(g.Parts, part) == on:
		return nil
	case part == Tenants && on && !slices.Contains(g.Parts, Infrastructure):
		return fmt.Errorf("group %s has no infrastructure, so no walls between tenants: enable infrastructure first", name)
	case part == Infrastructure && !on && slices.Contains(g.Parts, Tenants):
		return fmt.Errorf("group %s has tenants, and its infrastructure is the walls between them: disable tenants first", name)
	}
	f.leavingAll = !on // and what the part brought leaves with it
	return f.switchPart(name, part, on)
}

func (f *Fleet) switchPart(name string, part Part, on bool) error {
	dir := path.Join(groupsDir, name)
	data := struct{ Name, From string }{Name: name}
	if part == Delivery {
		file := path.Join(dir, suspendFile)
		if on {
			f.tree.Remove(file)
			_, err := unregister(f.tree, dir, file)
			return err
		}
		if err := scaffoldedFile(f.tree, "group/"+suspendFile, file, data); err != nil {
			return err
		}
		return f.tree.Edit(f.tree.KustomizationIn(dir), 0, func(k *yaml.Node) error { return addPatch(k, suspendFile, "Kustomization") })
	}
	file := infrastructureFile
	if part == Tenants {
		file = tenantsFile
	}
	if !on {
		_, err := unregister(f.tree, dir, path.Join(dir, file))
		return err
	}
	if !f.tree.IsFile(path.Join(dir, file)) {
		if err := scaffoldedFile(f.tree, "group/"+file, path.Join(dir, file), data); err != nil {
			return err
		}
	}
	if overlay := path.Join(tenantsDir, name); part == Tenants && f.tree.KustomizationIn(overlay) == "" {
		if err := scaffoldedFile(f.tree, "overlay/kustomization.yaml", path.Join(overlay, "kustomization.yaml"), data); err != nil {
			return err
		}
	}
	return register(f.tree, dir, file)
}

// DeleteGroup removes a group without clusters, and its overlay. Tenants that live
// nowhere else stay in base.
func (f *Fleet) DeleteGroup(name string) error {
	g := f.group(name)
	switch {
	case g == nil:
		return f.noGroup(name)
	case len(g.Clusters) > 0:
		return fmt.Errorf("group %s has clusters: %s; delete them, or move them to another group, first", name, strings.Join(g.Clusters, ", "))
	}
	dir := path.Join(tenantsDir, name)
	for _, t := range f.Tenants {
		if len(t.Places) == 1 && t.Places[0].Path == dir {
			return fmt.Errorf("tenant %s lives in group %s alone: delete it first, or give it another place", t.Name, name)
		}
	}
	for _, o := range f.Overlays {
		if o.Path == dir && len(o.Clusters) > 0 {
			return fmt.Errorf("clusters %s get tenants from %s: change that first", strings.Join(o.Clusters, ", "), dir)
		}
	}
	f.leavingAll = true
	for _, below := range []string{path.Join(groupsDir, name), dir} {
		for _, file := range f.tree.Files(below) {
			f.tree.Remove(file)
		}
	}
	return nil
}

func partNames(parts []Part) string {
	if len(parts) == 0 {
		return "no parts"
	}
	var all []string
	for _, p := range parts {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}
