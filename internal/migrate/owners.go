// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

const accountPrefix = "system:serviceaccount:"

func ownerKey(o v1alpha1.Owner) string {
	if o.Namespace != "" {
		return string(o.Kind) + " " + o.Namespace + "/" + o.Name
	}
	return string(o.Kind) + " " + o.Name
}

// subject is who an owner is.
type subject struct {
	kind, namespace, name string
}

// who reads kind, name and namespace of a subject as RBAC and others write it: an
// account may stand there as a User with its full name too.
func who(f field) subject {
	s := subject{kind: f.get("kind").text(), name: f.get("name").text()}
	if s.kind == "ServiceAccount" {
		s.namespace = f.get("namespace").text()
	}
	f.get("apiGroup").unless("rbac.authorization.k8s.io", "")
	return s.account()
}

func (s subject) account() subject {
	rest, ok := strings.CutPrefix(s.name, accountPrefix)
	if ns, name, two := strings.Cut(rest, ":"); ok && two && s.kind != "Group" {
		return subject{"ServiceAccount", ns, name}
	}
	return s
}

// refusal says why the API would not take the subject as an owner; "" if it would.
func (s subject) refusal() string {
	account := s.kind == "ServiceAccount"
	switch {
	case s.kind != "User" && s.kind != "Group" && !account:
		return "is neither a User, a Group nor a ServiceAccount"
	case s.name == "" || len(s.name) > 253 || len(s.namespace) > 63:
		return "has a name that owners don't have"
	case strings.HasPrefix(s.name, "system:"):
		return "is the cluster's own, whoever is in it"
	case account && s.namespace == "":
		return "is a ServiceAccount without a namespace"
	}
	return ""
}

// addOwner makes the subject an owner, or adds to what it is.
func (d *draft) addOwner(f field, s subject, role v1alpha1.Role, clusterRoles []string) {
	if s.kind != "ServiceAccount" {
		s.namespace = ""
	}
	if why := s.refusal(); why != "" {
		f.tell(Lost, "%s: it is no owner; bind it in the tenant's repository if it is needed", why)
		return
	}
	clusterRoles = d.ownRoles(f, clusterRoles)
	if role == "" && len(clusterRoles) == 0 {
		f.tell(Lost, "no role is left for %s %s: it is no owner", s.kind, s.name)
		return
	}
	owner := v1alpha1.Owner{Kind: v1alpha1.OwnerKind(s.kind), Name: s.name, Namespace: s.namespace, Role: role}
	at := slices.IndexFunc(d.spec.Owners, func(o v1alpha1.Owner) bool { return ownerKey(o) == ownerKey(owner) })
	if at < 0 {
		if len(d.spec.Owners) >= 64 {
			f.tell(Lost, "a Tenant has 64 owners at most: it is left out; use a group")
			return
		}
		d.spec.Owners = append(d.spec.Owners, owner)
		at = len(d.spec.Owners) - 1
	}
	o := &d.spec.Owners[at]
	o.Role = stronger(o.Role, role)
	for _, r := range clusterRoles {
		d.add(&o.ClusterRoles, f, r, items{"spec.owners[].clusterRoles", 16, 253, anything})
	}
	slices.SortFunc(d.spec.Owners, func(a, b v1alpha1.Owner) int {
		return cmp.Or(strings.Compare(ownerKey(a), ownerKey(b)), 0)
	})
}

// ownRoles are the ClusterRoles that may be given to tenants.
func (d *draft) ownRoles(f field, names []string) []string {
	var all []string
	for _, n := range names {
		switch {
		case n == "" || len(n) > 253 || strings.HasPrefix(n, "system:") || strings.HasPrefix(n, "tenantry:"):
			f.of.tellOf(f.path, Lost, "ClusterRole %s is not given to tenants: make one of your own with what is needed, and name it in spec.owners[].clusterRoles", n)
		default:
			all = append(all, n)
			d.tell(Do, "spec.owners", "let Tenantry bind ClusterRole %s: grant the verb bind on it in a ClusterRole labelled tenantry.dev/aggregate-to-controller: \"true\"", n)
		}
	}
	return all
}

var strength = []v1alpha1.Role{"", v1alpha1.RoleView, v1alpha1.RoleEdit, v1alpha1.RoleAdmin}

func stronger(a, b v1alpha1.Role) v1alpha1.Role {
	return strength[max(slices.Index(strength, a), slices.Index(strength, b), 0)]
}

// roles sorts ClusterRoles into Tenantry's role and the rest. Kubernetes' own admin and
// edit are not given: they hold rights that break out of a tenant.
func roles(names []string) (role v1alpha1.Role, rest []string) {
	for _, n := range names {
		switch n {
		case "cluster-admin", "admin":
			role = v1alpha1.RoleAdmin
		case "edit":
			role = stronger(role, v1alpha1.RoleEdit)
		case "view":
			role = stronger(role, v1alpha1.RoleView)
		default:
			rest = append(rest, n)
		}
	}
	return role, rest
}
