// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Validate tells what the API server would refuse about a Tenant.
type Validate func(*v1alpha1.Tenant) error

// Review reads the changed fleet back, and refuses one that could not be read or that
// the clusters would not take: a tenant that the API refuses, or two that claim the
// same. What was wrong before, and is not touched, is left to others.
func (f *Fleet) Review(validate Validate) error {
	if err := f.read(); err != nil {
		return err
	}
	if err := f.reviewOverlays(); err != nil {
		return err
	}
	for _, w := range f.wishes {
		if err := f.fulfilled(w); err != nil {
			return err
		}
	}
	for i := range f.Tenants {
		t := &f.Tenants[i]
		if !f.touched(t) {
			continue
		}
		if err := f.reviewTenant(t, validate); err != nil {
			return err
		}
	}
	return nil
}

// reviewOverlays refuses an overlay that has a tenant twice, as kustomize would, and a
// change that moves tenants which it is not about.
func (f *Fleet) reviewOverlays() error {
	for _, o := range f.Overlays {
		seen := map[string]bool{}
		for _, d := range o.tenants {
			if seen[d.name] {
				return &tree.Error{File: f.tree.Full(f.tree.KustomizationIn(o.Path)), What: fmt.Sprintf("tenant %s would be in it twice, here and by way of what it builds on: leave one of them out", d.name)}
			}
			seen[d.name] = true
		}
	}
	after := f.population()
	for _, dir := range slices.Sorted(maps.Keys(f.before)) {
		for _, name := range slices.Sorted(maps.Keys(f.before[dir])) {
			if !f.leavingAll && !f.leaving[name] && !after[dir][name] {
				return &tree.Error{File: f.tree.Full(dir), What: fmt.Sprintf("tenant %s would be gone from it too, and from its clusters: give each tenant a directory of its own in base first", name)}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(after[dir])) {
			if !f.arriving[name] && !f.before[dir][name] {
				return &tree.Error{File: f.tree.Full(dir), What: fmt.Sprintf("tenant %s would come into it too: give each tenant a directory of its own in base first", name)}
			}
		}
	}
	return nil
}

// touched tells whether any file of a tenant is changed, or it is in an overlay that it
// was not in before.
func (f *Fleet) touched(t *Tenant) bool {
	for _, d := range t.declared {
		if f.tree.Changed(d.file) {
			return true
		}
	}
	for _, p := range t.Places {
		if !f.before[p.Path][t.Name] || slices.ContainsFunc(p.document.patches, func(p patch) bool { return f.tree.Changed(p.file) }) {
			return true
		}
	}
	return false
}

func (f *Fleet) reviewTenant(t *Tenant, validate Validate) error {
	for _, d := range t.declared {
		if err := f.reviewDocument(d, validate); err != nil {
			return err
		}
	}
	for _, p := range t.Places {
		if err := f.reviewDocument(p.document, validate); err != nil {
			return err
		}
		for _, o := range f.Overlays {
			if o.Path != p.document.overlay {
				continue
			}
			for _, other := range o.tenants {
				if err := f.reviewPair(p.document, other); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (f *Fleet) reviewDocument(d document, validate Validate) error {
	tenant, err := f.decode(d)
	if err != nil {
		return err
	}
	if err := validate(tenant); err != nil {
		where := ""
		if d.overlay != "" {
			where = " in " + d.overlay
		}
		return &tree.Error{File: f.tree.Full(d.file), Line: d.node.Line, What: fmt.Sprintf("tenant %s%s: %v", d.name, where, err)}
	}
	return nil
}

// reviewPair refuses two tenants of one overlay that can't stand together. Reading
// their lists is cheap, and only where they meet are patches merged.
func (f *Fleet) reviewPair(a, b document) error {
	at := &tree.Error{File: f.tree.Full(a.file), Line: a.node.Line}
	there := fmt.Sprintf("%s:%d", f.tree.Full(b.file), b.node.Line)
	switch {
	case a.node == b.node:
		return nil
	case strings.HasPrefix(a.name, b.name+"-") || strings.HasPrefix(b.name, a.name+"-"):
		at.What = fmt.Sprintf("tenants %s and %s overlap in %s: namespaces named %s-... could be either's (%s); choose a name that doesn't begin so",
			a.name, b.name, a.overlay, shorter(a.name, b.name), there)
		return at
	case !f.mayMeet(a, b):
		return nil
	}
	x, err := f.decode(a)
	if err != nil {
		return err
	}
	y, err := f.decode(b)
	if err != nil {
		return err
	}
	for _, ns := range append([]string{x.Name}, x.Spec.Namespaces.Declared...) {
		if ns == y.Name || slices.Contains(y.Spec.Namespaces.Declared, ns) {
			at.What = fmt.Sprintf("namespace %s is claimed by tenant %s too (%s): two tenants have none in common", ns, y.Name, there)
			return at
		}
	}
	for _, d := range x.Spec.Domains {
		for _, e := range y.Spec.Domains {
			if overlap(d, e) {
				at.What = fmt.Sprintf("domain %s overlaps with %s of tenant %s (%s): two tenants have none in common", d, e, y.Name, there)
				return at
			}
		}
	}
	return nil
}

func shorter(a, b string) string {
	if len(a) < len(b) {
		return a
	}
	return b
}

// mayMeet tells whether two tenants could have a namespace or a domain in common,
// whichever of their patches hold.
func (f *Fleet) mayMeet(a, b document) bool {
	if slices.ContainsFunc(append(slices.Clone(a.patches), b.patches...), func(p patch) bool { return p.node.Kind == yaml.SequenceNode }) {
		return true
	}
	taken := map[string]bool{a.name: true}
	var domains []string
	for _, n := range nodesOf(a) {
		for _, item := range tree.Items(n, "spec", "namespaces", "declared") {
			taken[item.Value] = true
		}
		for _, item := range tree.Items(n, "spec", "domains") {
			domains = append(domains, item.Value)
		}
	}
	if taken[b.name] {
		return true
	}
	for _, n := range nodesOf(b) {
		for _, item := range tree.Items(n, "spec", "namespaces", "declared") {
			if taken[item.Value] {
				return true
			}
		}
		for _, item := range tree.Items(n, "spec", "domains") {
			if slices.ContainsFunc(domains, func(d string) bool { return overlap(d, item.Value) }) {
				return true
			}
		}
	}
	return false
}

// overlap tells whether two domains are one, or one is below the other.
func overlap(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

func nodesOf(d document) []*yaml.Node {
	all := []*yaml.Node{d.node}
	for _, p := range d.patches {
		all = append(all, p.node)
	}
	return all
}
