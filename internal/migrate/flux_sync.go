// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// taken is a Kustomization that became a sync, with what it waits for.
type taken struct {
	draft *draft
	of    *object
	name  string
	after []field
}

// sync makes a sync of a Kustomization and its source.
func (c *cluster) sync(d *draft, o *object) {
	if o.settled() {
		return
	}
	o.claim(d.name)
	spec := o.at("spec")
	s := v1alpha1.Sync{Name: c.syncName(d, o)}
	if s.Name == "" {
		return
	}
	var ok bool
	if s.Source, ok = c.source(d, o, spec.get("sourceRef")); !ok || !setPath(&s, spec.get("path")) {
		o.top().done()
		return
	}
	c.settings(d, o, &s)
	c.runAs(d, o, spec.get("serviceAccountName"))
	c.moved(d, o)
	d.spec.Syncs = append(d.spec.Syncs, s)
	slices.SortFunc(d.spec.Syncs, func(a, b v1alpha1.Sync) int { return strings.Compare(a.Name, b.Name) })
	c.syncs[o.namespace+"/"+o.name] = &taken{d, o, s.Name, spec.get("dependsOn").list()}
}

// settings carries over how a sync is applied.
func (c *cluster) settings(d *draft, o *object, s *v1alpha1.Sync) {
	spec := o.at("spec")
	s.Interval = duration(spec.get("interval"), "10m")
	s.RetryInterval = duration(spec.get("retryInterval"), "30s")
	s.Timeout = duration(spec.get("timeout"), "")
	if !spec.get("prune").flag(false) {
		s.Prune = new(bool)
	}
	s.Wait = spec.get("wait").flag(false)
	c.target(d, o, s, spec.get("targetNamespace"))
	c.substitutes(d, o, s, spec.get("postBuild"))
	c.decrypt(d, o, s, spec.get("decryption"))
	if spec.get("suspend").flag(false) {
		spec.get("suspend").tell(Do, "was suspended, and runs as soon as the Tenant is applied: take the sync out until it may, or cordon the tenant")
	}
	for _, key := range []string{"force", "ignoreMissingComponents"} {
		spec.get(key).unless(false)
	}
}

// syncName is free among the tenant's syncs; "" when there can be none.
func (c *cluster) syncName(d *draft, o *object) string {
	name := strings.ReplaceAll(o.name, ".", "-")
	used := func(n string) bool {
		return slices.ContainsFunc(d.spec.Syncs, func(s v1alpha1.Sync) bool { return s.Name == n })
	}
	if used(name) {
		name = o.namespace + "-" + name
	}
	switch {
	case len(name) > 63 || !labelName.MatchString(name) || used(name):
		o.settle(d.name, Lost, "a sync can't be named %s: it is left out; add it to spec.syncs by another name", name)
		return ""
	case len(d.spec.Syncs) >= 32:
		o.settle(d.name, Lost, "a Tenant has 32 syncs at most: it is left out; have the tenant apply it from its own repository")
		return ""
	}
	if name != o.name {
		o.tellOf("metadata.name", Changed, "the sync is named %s", name)
	}
	return name
}

// moved tells how the old Kustomization goes without taking what it applied with it.
func (c *cluster) moved(d *draft, o *object) {
	if o.namespace == d.name {
		return
	}
	o.tell(Do, "is made anew in namespace %s: set spec.prune to false on this one before it is deleted, or it removes what the new one has taken over", d.name)
}

func setPath(s *v1alpha1.Sync, f field) bool {
	switch path := f.peek(); {
	case path == "" || path == "." || path == "./" || path == "/":
		f.unless(path)
	case strings.Contains(path, "..") || len(path) > 512:
		f.tell(Lost, "a path stays within the source and has 512 letters at most: the sync is left out; correct the path and add it to spec.syncs")
		return false
	default:
		s.Path = f.text()
	}
	return true
}

// target is where all objects of the source go, when it is said. Where it is not, each
// says so itself: Flux puts none into the Kustomization's own namespace.
func (c *cluster) target(d *draft, o *object, s *v1alpha1.Sync, f field) {
	ns := f.peek()
	switch {
	case ns == "":
		f.done()
	case len(ns) > 63:
		f.tell(Lost, "is no name of a namespace: it is left out")
	default:
		s.TargetNamespace = f.text()
		if c.tenants[ns] != d.name && !d.has(ns) {
			o.tellOf(f.path, Do, "namespace %s is not the tenant's, and its account can't write there: add it to spec.namespaces.declared, or choose another", ns)
		}
	}
}

// runAs tells whom the sync runs as now.
func (c *cluster) runAs(d *draft, o *object, f field) {
	account := f.text()
	switch known := c.byID["/ServiceAccount/"+o.namespace+"/"+account]; {
	case account == "":
		f.done()
		o.tellOf(f.path, Stricter, "ran as Flux itself, or as its default account: it runs as the tenant's account now, which can't go beyond the tenant's namespaces")
	case known == nil:
		o.tellOf(f.path, Stricter, "ran as %s, of which nothing is known here: it runs as the tenant's account now, which can't go beyond the tenant's namespaces", account)
	default:
		o.tellOf(f.path, Changed, "ran as %s: it runs as the tenant's account now, %s", account, d.name)
	}
}
