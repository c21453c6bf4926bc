// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// draft is a Tenant in one environment, as far as it is known. Its methods take only
// what the API would take, and note the rest.
type draft struct {
	name, environment string
	spec              v1alpha1.TenantSpec
	origin            *object
	log               *notes
	bounds            bounds
	bound             bindings
	// levels are the Pod Security levels that namespaces had; "" is none.
	levels map[string]string
	// levelled is when a level was said for all, which may be the default.
	levelled bool
}

// tell notes something of the Tenant that comes of no one object.
func (d *draft) tell(v Verdict, path, format string, args ...any) {
	d.log.add(Note{
		Tenant: d.name, Verdict: v, Place: d.origin.Place, Object: "Tenant " + d.name, Field: path,
		What: fmt.Sprintf(format, args...),
	})
}

// finish decides what only all objects together can tell.
func (d *draft) finish() {
	d.decideOwners()
	d.decideBounds()
	d.decideLevel()
}

// items is what a list of the API takes.
type items struct {
	name    string
	most    int
	longest int
	pattern *regexp.Regexp
}

// add appends a value that was read, once, and notes one that the API would refuse.
func (d *draft) add(list *[]string, f field, value string, of items) bool {
	switch {
	case slices.Contains(*list, value):
		return true
	case len(value) > of.longest || !of.pattern.MatchString(value):
		f.tell(Lost, "is nothing that %s takes: it is left out%s", of.name, short(f))
		return false
	case len(*list) >= of.most:
		f.tell(Lost, "%s takes %d entries and has them: it is left out%s", of.name, of.most, short(f))
		return false
	}
	*list = append(*list, value)
	slices.Sort(*list)
	return true
}

// declare gives the tenant a namespace that is its home or is declared.
func (d *draft) declare(f field, ns string) {
	if ns == d.name {
		return
	}
	if slices.Contains([]string{"default", "flux-system", "tenantry-system"}, ns) || strings.HasPrefix(ns, "kube-") {
		f.tell(Lost, "namespace %s is the system's and no tenant's: move what the tenant has in it elsewhere", ns)
		return
	}
	d.add(&d.spec.Namespaces.Declared, f, ns, items{"spec.namespaces.declared", 256, 63, labelName})
}

// has tells whether a namespace is the tenant's, or may be made by it.
func (d *draft) has(ns string) bool {
	return ns == d.name || slices.Contains(d.spec.Namespaces.Declared, ns) ||
		d.spec.Namespaces.SelfService != nil && strings.HasPrefix(ns, d.name+"-")
}

// handOver tells how a namespace that stands already becomes the tenant's.
func (d *draft) handOver(o *object, ns string) {
	o.tell(Do, "stands already: hand it over before the Tenant comes, with kubectl label namespace %s %s=%s; where Flux applied it, annotate it kustomize.toolkit.fluxcd.io/prune=disabled before its old file goes, or it goes too", ns, v1alpha1.TenantLabel, d.name)
}
