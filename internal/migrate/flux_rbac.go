// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
)

// roleBinding makes owners of people. Accounts of Flux are replaced by the tenant's own.
func (c *cluster) roleBinding(d *draft, o *object) {
	o.claim(d.name)
	ref := o.at("roleRef")
	ref.get("apiGroup").unless(rbacGroup, "")
	role := ref.get("name").peek()
	if ref.get("kind").peek() != "ClusterRole" || role == "" {
		o.settle(d.name, Do, "binds a Role of the namespace: move both to the tenant's repository, or make a ClusterRole and name it in spec.owners[].clusterRoles")
		return
	}
	ref.get("kind").done()
	ref.get("name").done()
	for _, f := range o.at("subjects").list() {
		c.bound(d, f, role)
	}
}

// bound is one subject of a binding.
func (c *cluster) bound(d *draft, f field, role string) {
	s := who(f)
	switch {
	case s.kind == "User" && strings.HasPrefix(s.name, "gotk:"):
		f.tell(Changed, "Flux does not use this name any more: the tenant's account stands for it")
	case s.kind == "ServiceAccount" && (s.namespace == "" || s.namespace == f.of.namespace) && c.reconciles(f.of, s.name):
		verdict, less := Changed, ""
		if weaker(role) != "" {
			verdict, less = Stricter, ", and not "+role
		}
		f.tell(verdict, "the tenant's own account takes its place, with what an admin of the tenant may%s; have cluster-wide objects of the tenant's repository applied by the platform", less)
	case s.kind == "ServiceAccount":
		f.tell(Do, "ServiceAccount %s is bound to ClusterRole %s: bind it in the tenant's repository, and name it in spec.allow.accounts if it is of another namespace", s.name, role)
	default:
		d.bound.add(s, role, f.of.namespace, f)
	}
}

// reconciles tells whether Flux runs as an account of the binding's namespace.
func (c *cluster) reconciles(binding *object, account string) bool {
	if c.accounts[binding.namespace+"/"+account] {
		return true
	}
	sa := c.byID["/ServiceAccount/"+binding.namespace+"/"+account]
	return sa != nil && sa.label("toolkit.fluxcd.io/tenant").found
}

// clusterWide tells of bindings beyond the tenants' namespaces that go to accounts in them.
func (c *cluster) clusterWide(o *object) {
	if !o.is(rbacGroup, "ClusterRoleBinding") {
		return
	}
	for _, f := range o.at("subjects").list() {
		ns := subject{f.get("kind").peek(), f.get("namespace").peek(), f.get("name").peek()}.account().namespace
		if tenant, ok := c.tenants[ns]; ok {
			o.settle(tenant, Stricter, "gives an account of the tenant rights in the whole cluster: a Tenant has none; remove it, and have the platform apply what needs them")
		}
	}
}
