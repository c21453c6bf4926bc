// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Edit changes a Tenant's YAML, or that of a patch of it, and tells whether it found
// what it is about.
type Edit func(tenant *yaml.RNode, patch bool) (bool, error)

// EditTenant makes one change in all files that declare or patch a tenant: where an
// overlay replaces a list, changing the base alone would change nothing there.
func (f *Fleet) EditTenant(name string, change Edit) (found bool, err error) {
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
		documents, err := f.tree.documents(file)
		if err != nil {
			return err
		}
		for i, d := range documents {
			if text(d, "kind") != "Tenant" || text(d, "metadata", "name") != name {
				continue
			}
			if err := f.tree.edit(file, i, func(object *yaml.RNode) error {
				ok, err := change(object, patch)
				found = found || ok
				return err
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
			if err := apply(patch.file, true); err != nil {
				return false, err
			}
		}
	}
	return found, nil
}

// AddOwner adds an owner, or changes the role of one.
func AddOwner(o v1alpha1.Owner) Edit {
	return func(t *yaml.RNode, patch bool) (bool, error) {
		if patch && field(t.YNode(), "spec", "owners") == nil {
			return false, nil // the base's list holds here too
		}
		list, err := t.Pipe(yaml.LookupCreate(yaml.SequenceNode, "spec", "owners"))
		if err != nil {
			return false, err
		}
		n := list.YNode()
		entry, err := toNode(o)
		if err != nil {
			return false, err
		}
		if i := slices.IndexFunc(n.Content, isOwner(o)); i >= 0 {
			n.Content[i] = merged(n.Content[i], entry)
		} else {
			n.Content = append(n.Content, entry)
		}
		unfold(n)
		return true, nil
	}
}

// merged keeps an entry's order and comments where it has the wanted value.
func merged(have, want *yaml.Node) *yaml.Node {
	for i := 0; i+1 < len(want.Content); i += 2 {
		key, value := want.Content[i], want.Content[i+1]
		if old := field(have, key.Value); old != nil {
			old.Value, old.Content, old.Kind = value.Value, value.Content, value.Kind
		} else {
			have.Content = append(have.Content, key, value)
		}
	}
	return have
}

func isOwner(o v1alpha1.Owner) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		return text(n, "kind") == string(o.Kind) && text(n, "name") == o.Name && text(n, "namespace") == o.Namespace
	}
}

// RemoveOwner removes an owner.
func RemoveOwner(o v1alpha1.Owner) Edit {
	return func(t *yaml.RNode, patch bool) (bool, error) {
		return drop(t, patch, isOwner(o), "spec", "owners")
	}
}

// AddNamespace declares a namespace.
func AddNamespace(name string) Edit {
	return func(t *yaml.RNode, patch bool) (bool, error) {
		if patch && field(t.YNode(), "spec", "namespaces", "declared") == nil {
			return false, nil
		}
		return true, add(t, name, "spec", "namespaces", "declared")
	}
}

// RemoveNamespace takes back a declared namespace.
func RemoveNamespace(name string) Edit {
	return func(t *yaml.RNode, patch bool) (bool, error) {
		return drop(t, patch, func(n *yaml.Node) bool { return n.Value == name }, "spec", "namespaces", "declared")
	}
}

// EditLive makes a change to a tenant that is no file of a fleet.
func EditLive(t *v1alpha1.Tenant, change Edit) (bool, error) {
	n, err := toNode(t)
	if err != nil {
		return false, err
	}
	object := yaml.NewRNode(n)
	found, err := change(object, false)
	if err != nil {
		return false, err
	}
	content, err := object.MarshalJSON()
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
		for _, item := range items(n, "spec", "namespaces", "declared") {
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
