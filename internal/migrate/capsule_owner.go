// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// deleter is Capsule's ClusterRole that lets owners delete namespaces; Tenantry's admin may.
const deleter = "capsule-namespace-deleter"

func (t *capsuleTenant) readOwners() {
	for _, f := range t.in.get("owners").list() {
		t.readOwner(f)
	}
	permissions := t.in.get("permissions")
	permissions.get("allowOwnerPromotion").unless(false)
	for _, f := range permissions.get("matchOwners").list() {
		t.matchOwners(f)
	}
	for _, o := range t.more {
		if o.is(capsuleGroup, "TenantOwner") && o.label("projectcapsule.dev/tenant").peek() == t.old {
			o.label("projectcapsule.dev/tenant").done()
			t.tenantOwner(o)
		}
	}
	for _, f := range t.in.get("additionalRoleBindings").list() {
		t.readBinding(f)
	}
}

// readOwner carries over an entry of spec.owners, or the spec of a TenantOwner.
func (t *capsuleTenant) readOwner(f field) {
	s := subject{kind: f.get("kind").text(), name: f.get("name").text()}.account()
	names := f.get("clusterRoles").texts()
	if len(names) == 0 {
		names = []string{"admin", deleter}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == deleter })
	role, rest := roles(names)
	for _, n := range names {
		if weaker(n) != "" {
			f.of.tellOf(step(f.path, "clusterRoles"), Stricter, "ClusterRole %s is Tenantry's role %s%s", n, role, weaker(n))
		}
	}
	if role != "admin" {
		f.of.tellOf(f.path, Stricter, "makes and deletes no namespaces any more, which only owners with role admin do; set role to admin if it has to")
	}
	for _, proxy := range f.get("proxySettings").list() {
		proxy.tell(Lost, "Tenantry has no settings of a proxy: give a ClusterRole of your own in spec.owners[].clusterRoles if more has to be seen")
	}
	t.addOwner(f, s, role, rest)
}

// matchOwners adds the TenantOwners that a selector matches now.
func (t *capsuleTenant) matchOwners(f field) {
	selector := metav1.LabelSelector{}
	if err := f.into(&selector); err != nil {
		f.tell(Lost, "is no selector: nobody becomes an owner by it; write spec.owners")
		return
	}
	match, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		f.tell(Lost, "is no selector: nobody becomes an owner by it; write spec.owners")
		return
	}
	f.of.tellOf(f.path, Changed, "owners are named one by one: who is matched now is in spec.owners, and who comes later has to be added there")
	for _, o := range t.more {
		set := labels.Set{}
		for _, l := range o.at("metadata", "labels").entries() {
			set[l.key] = l.peek()
		}
		if o.is(capsuleGroup, "TenantOwner") && match.Matches(set) {
			for key := range selector.MatchLabels {
				o.label(key).done()
			}
			for _, e := range selector.MatchExpressions {
				o.label(e.Key).done()
			}
			t.tenantOwner(o)
		}
	}
}

func (t *capsuleTenant) tenantOwner(o *object) {
	o.claim("")
	o.at("spec", "aggregate").unless(true)
	t.readOwner(o.at("spec"))
}

// readBinding carries over a ClusterRole for subjects that don't own. Tenantry's admin
// owns, so who had admin without owning gets edit.
func (t *capsuleTenant) readBinding(f field) {
	name := f.get("clusterRoleName").text()
	for _, at := range f.get("subjects").list() {
		s := who(at)
		role, rest := roles([]string{name})
		owns := slices.ContainsFunc(t.spec.Owners, func(o v1alpha1.Owner) bool {
			return string(o.Kind) == s.kind && o.Name == s.name && o.Namespace == s.namespace && o.Role == "admin"
		})
		if role == "admin" && !owns {
			role = "edit"
		}
		if w := weaker(name); w != "" {
			t.of.tellOf(at.path, Stricter, "%s %s has role %s for ClusterRole %s%s; only role admin makes namespaces", s.kind, s.name, role, name, w)
		}
		t.addOwner(at, s, role, rest)
	}
}
