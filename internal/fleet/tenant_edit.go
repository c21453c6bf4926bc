// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Edit is a change of a Tenant.
type Edit struct {
	// change makes it in the Tenant's YAML, or in that of a patch of it, and tells
	// whether it found what it is about.
	change func(tenant *yaml.Node, patch bool) (bool, error)
	// holds tells whether a tenant is as the change would have it.
	holds func(*v1alpha1.Tenant) bool
}

// EditTenant makes one change in all files that declare or patch a tenant: where an
// overlay replaces a list, changing the base alone would change nothing there.
func (f *Fleet) EditTenant(name string, e Edit) (found bool, err error) {
	t := f.Tenant(name)
	if t == nil {
		return false, f.NoTenant(name)
	}
	done := map[string]bool{}
	apply := func(file string, patch bool) error {
		if done[file] {
			return nil
		}
		done[file] = true
		documents, err := f.tree.Documents(file)
		if err != nil {
			return err
		}
		for i, d := range documents {
			if !slices.ContainsFunc(tree.Flattened([]*yaml.Node{d}), isTenant(name)) {
				continue
			}
			if err := f.tree.Edit(file, i, func(root *yaml.Node) error {
				for _, object := range tree.Flattened([]*yaml.Node{root}) {
					if !isTenant(name)(object) {
						continue
					}
					ok, err := e.change(object, patch)
					if err != nil {
						return err
					}
					found = found || ok
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, d := range t.declared {
		if err := apply(d.file, false); err != nil {
			return false, err
		}
	}
	for _, p := range t.Places {
		for _, patch := range p.document.patches {
			if patch.targeted && patch.exact != name {
				continue // it is for others too
			}
			if err := apply(patch.file, true); err != nil {
				return false, err
			}
		}
	}
	f.wishes = append(f.wishes, wish{name, e.holds})
	return found, nil
}

func isTenant(name string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		return tree.Text(n, "kind") == "Tenant" && tree.Text(n, "metadata", "name") == name
	}
}

// wish is how a tenant is to be everywhere after a change.
type wish struct {
	tenant string
	holds  func(*v1alpha1.Tenant) bool
}

// fulfilled refuses a change that a patch undoes which no verb edits: one that stands in
// a kustomization, or is a list of operations.
func (f *Fleet) fulfilled(w wish) error {
	t := f.Tenant(w.tenant)
	if t == nil {
		return nil
	}
	for _, p := range t.Places {
		tenant, err := f.decode(p.document)
		if err != nil {
			return err
		}
		if w.holds(tenant) {
			continue
		}
		at := &tree.Error{File: f.tree.Full(p.Path), What: fmt.Sprintf("a patch of tenant %s has the last word there: change that first", w.tenant)}
		for _, patch := range p.document.patches {
			at.File, at.Line = f.tree.Full(patch.file), patch.line
		}
		return at
	}
	return nil
}

// AddOwner adds an owner, or changes the role of one.
func AddOwner(o v1alpha1.Owner) Edit {
	return Edit{
		change: func(t *yaml.Node, patch bool) (bool, error) {
			if patch && tree.Field(t, "spec", "owners") == nil {
				return false, nil // the base's list holds here too
			}
			list, err := tree.ListIn(t, true, "spec", "owners")
			if err != nil {
				return false, err
			}
			entry, err := tree.ToNode(o)
			if err != nil {
				return false, err
			}
			if i := slices.IndexFunc(list.Content, isOwner(o)); i >= 0 {
				retell(list.Content[i], entry)
			} else {
				list.Content = append(list.Content, entry)
			}
			tree.Unfold(list)
			return true, nil
		},
		holds: func(t *v1alpha1.Tenant) bool {
			return slices.ContainsFunc(t.Spec.Owners, func(have v1alpha1.Owner) bool {
				return have.Kind == o.Kind && have.Name == o.Name && have.Namespace == o.Namespace && roleOf(have) == roleOf(o) &&
					slices.Equal(slices.Sorted(slices.Values(have.ClusterRoles)), slices.Sorted(slices.Values(o.ClusterRoles)))
			})
		},
	}
}

// roleOf is an owner's role, with the API's default.
func roleOf(o v1alpha1.Owner) v1alpha1.Role {
	if o.Role == "" && len(o.ClusterRoles) == 0 {
		return v1alpha1.RoleAdmin
	}
	return o.Role
}

// retell makes an entry say what another says, and keeps its order and comments where
// it says so already.
func retell(have, want *yaml.Node) {
	for i := 0; i+1 < len(have.Content); i += 2 {
		if tree.Field(want, have.Content[i].Value) == nil {
			have.Content = slices.Delete(have.Content, i, i+2)
			i -= 2
		}
	}
	for i := 0; i+1 < len(want.Content); i += 2 {
		key, value := want.Content[i], want.Content[i+1]
		if old := tree.Field(have, key.Value); old != nil {
			old.Value, old.Content, old.Kind, old.Tag = value.Value, value.Content, value.Kind, value.Tag
		} else {
			have.Content = append(have.Content, key, value)
		}
	}
}

func isOwner(o v1alpha1.Owner) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		return tree.Text(n, "kind") == string(o.Kind) && tree.Text(n, "name") == o.Name && tree.Text(n, "namespace") == o.Namespace
	}
}

// RemoveOwner removes an owner.
func RemoveOwner(o v1alpha1.Owner) Edit {
	return Edit{
		change: func(t *yaml.Node, patch bool) (bool, error) { return tree.Drop(t, patch, isOwner(o), "spec", "owners") },
		holds: func(t *v1alpha1.Tenant) bool {
			return !slices.ContainsFunc(t.Spec.Owners, func(have v1alpha1.Owner) bool {
				return have.Kind == o.Kind && have.Name == o.Name && have.Namespace == o.Namespace
			})
		},
	}
}

// AddNamespace declares a namespace.
func AddNamespace(name string) Edit {
	return Edit{
		change: func(t *yaml.Node, patch bool) (bool, error) {
			if patch && tree.Field(t, "spec", "namespaces", "declared") == nil {
				return false, nil
			}
			return true, tree.Add(t, name, "spec", "namespaces", "declared")
		},
		holds: func(t *v1alpha1.Tenant) bool { return slices.Contains(t.Spec.Namespaces.Declared, name) },
	}
}

// RemoveNamespace takes back a declared namespace.
func RemoveNamespace(name string) Edit {
	return Edit{
		change: func(t *yaml.Node, patch bool) (bool, error) {
			return tree.Drop(t, patch, func(n *yaml.Node) bool { return n.Value == name }, "spec", "namespaces", "declared")
		},
		holds: func(t *v1alpha1.Tenant) bool { return !slices.Contains(t.Spec.Namespaces.Declared, name) },
	}
}

// EditLive makes a change to a tenant that is no file of a fleet.
func EditLive(t *v1alpha1.Tenant, e Edit) (bool, error) {
	object, err := tree.ToNode(t)
	if err != nil {
		return false, err
	}
	found, err := e.change(object, false)
	if err != nil {
		return false, err
	}
	content, err := tree.ToJSON(object)
	if err != nil {
		return false, err
	}
	*t = v1alpha1.Tenant{}
	return found, sigsyaml.UnmarshalStrict(content, t)
}

// ByNamespace is the one tenant that has a namespace, by the name of its home or by
// declaring it. None, or more than one, is refused.
func (f *Fleet) ByNamespace(namespace string) (*Tenant, error) {
	var found []*Tenant
	for i := range f.Tenants {
		t := &f.Tenants[i]
		if slices.Contains(t.namespaces(), namespace) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no tenant of the fleet declares namespace %s; namespaces that tenants make by themselves are not in it", namespace)
	case 1:
		return found[0], nil
	default:
		var names []string
		for _, t := range found {
			names = append(names, t.Name)
		}
		return nil, fmt.Errorf("%d tenants have a namespace %s in one place or another: %s; say which by name", len(found), namespace, strings.Join(names, ", "))
	}
}

// namespaces are the tenant's home and those that it declares anywhere.
func (t *Tenant) namespaces() []string {
	all := []string{t.Name}
	for _, n := range t.nodes() {
		for _, item := range tree.Items(n, "spec", "namespaces", "declared") {
			all = append(all, item.Value)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nodes are what declares and patches a tenant.
func (t *Tenant) nodes() []*yaml.Node {
	var all []*yaml.Node
	for _, d := range t.declared {
		all = append(all, d.node)
	}
	for _, p := range t.Places {
		for _, patch := range p.document.patches {
			all = append(all, patch.node)
		}
	}
	return all
}
