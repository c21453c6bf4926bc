// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// iam makes owners of who is bound in a workspace. A file of the CLI need not say the
// workspace; then nobody can know.
func (t *tmc) iam(o *object) {
	o.claim("")
	name := t.names[o.scope()]
	drafts := t.draftsOf(name)
	if len(drafts) == 0 {
		o.settle("", Do, "doesn't say a workspace that is here, so nobody becomes an owner by it: write fullName.workspaceName into it and import again, or write spec.owners")
		return
	}
	o.tenant = name
	o.named()
	for _, f := range o.at("roleBindings").list() {
		role := f.get("role").text()
		for _, s := range f.get("subjects").list() {
			for _, d := range drafts {
				t.subject(d, s, role)
			}
		}
	}
}

// named counts as read what says which document of the CLI this is.
func (o *object) named() {
	o.at("type").done()
	for _, key := range []string{"name", "workspaceName", "clusterGroupName"} {
		o.at("fullName", key).done()
	}
}

// scope is the workspace that a document of the CLI says.
func (o *object) scope() string {
	for _, keys := range [][]string{{"fullName", "workspaceName"}, {"workspaceName"}, {"workspace"}} {
		if f := o.at(keys...); f.peek() != "" {
			f.done()
			return f.peek()
		}
	}
	full := o.at("fullName").entries()
	if o.kind == "IAMPolicy" && len(full) == 1 {
		return full[0].peek()
	}
	return ""
}

func (t *tmc) subject(d *draft, f field, role string) {
	kind, name := f.get("kind").peek(), f.get("name").peek()
	s := subject{name: name}
	switch kind {
	case "USER":
		s.kind = "User"
	case "GROUP":
		s.kind = "Group"
	case "K8S_SERVICEACCOUNT":
		s.kind = "ServiceAccount"
		s.namespace, s.name, _ = strings.Cut(name, ":")
	default:
		f.tell(Lost, "is neither USER, GROUP nor K8S_SERVICEACCOUNT: it is no owner; write spec.owners")
		return
	}
	given, less := t.given(role)
	if s.kind == "ServiceAccount" && t.accountOf(d, f, s, less) {
		return
	}
	if given == "" {
		f.tell(Do, "role %s of TMC has no equivalent: nobody gets it; make a ClusterRole with what is needed and name it in spec.owners[].clusterRoles", role)
		return
	}
	f.get("kind").done()
	f.get("name").done()
	verdict := Changed
	if less {
		verdict = Stricter
	}
	f.of.tellOf(f.path, verdict, "%s %s is an owner with role %s for role %s of TMC, which may have held more", s.kind, s.name, given, role)
	d.addOwner(f, s, given, nil)
}

// accountOf settles accounts that Flux ran as; it tells whether that is all.
func (t *tmc) accountOf(d *draft, f field, s subject, less bool) bool {
	holder := t.holder(&object{namespace: s.namespace})
	if mine := t.spaces[d.name]; mine != nil && (s.namespace == d.name || mine.holds(s.namespace)) {
		holder = mine
	}
	switch {
	case holder == nil:
		return false
	case holder.name != d.name:
		f.tell(Do, "is an account of workspace %s: it is no owner here; if that is meant, add it to spec.owners, and to nobody's if it was a slip", holder.name)
	case less:
		f.tell(Stricter, "the tenant's own account takes its place, with what an admin of the tenant may and nothing of the cluster; have cluster-wide objects of the tenant's repository applied by the platform")
	default:
		f.tell(Changed, "the tenant's own account takes its place, with what an admin of the tenant may")
	}
	return true
}

// given is Tenantry's role for one of TMC; less tells whether it is less for sure.
func (t *tmc) given(role string) (given v1alpha1.Role, less bool) {
	for _, r := range []v1alpha1.Role{v1alpha1.RoleAdmin, v1alpha1.RoleEdit, v1alpha1.RoleView} {
		if role == "workspace."+string(r) || role == "namespace."+string(r) {
			return r, false
		}
	}
	if role == "cluster.admin" || role == "cluster-admin" || t.wildcard(role) {
		return v1alpha1.RoleAdmin, true
	}
	return "", false
}

// wildcard tells whether a role of TMC that is here allows everything.
func (t *tmc) wildcard(role string) bool {
	all := func(f field) bool {
		return slices.ContainsFunc(f.list(), func(i field) bool { return i.peek() == "*" })
	}
	for _, o := range t.objects {
		if !o.is(tmcGroup, "Role") || o.name != role {
			continue
		}
		for _, rule := range o.at("spec", "rules").list() {
			if all(rule.get("apiGroups")) && all(rule.get("resources")) && all(rule.get("verbs")) {
				return true
			}
		}
	}
	return false
}

func (t *tmc) role(o *object) {
	if t.wildcard(o.name) {
		o.settle("", Changed, "allows everything: who was bound to it in a workspace has Tenantry's role admin, and the tenant's account needs none")
		return
	}
	o.settle("", Do, "is TMC's: make a ClusterRole of what tenants still need of it, and name that in spec.owners[].clusterRoles")
}
