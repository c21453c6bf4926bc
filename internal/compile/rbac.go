// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// The constant ClusterRoles that tenants are bound to.
const (
	RoleAdmin       = "tenantry:admin"
	RoleEdit        = "tenantry:edit"
	RoleView        = "tenantry:view"
	RoleOwner       = "tenantry:owner"
	RoleGrower      = "tenantry:grower"
	RoleProvisioner = "tenantry:provisioner"
)

// grants are the RoleBindings in one namespace. Each is named after the role it
// binds, so changing what somebody may do makes and removes bindings and never
// needs the change of a roleRef, which the API server refuses.
func grants(t *v1alpha1.Tenant, ns v1alpha1.NamespaceStatus, mayGrow bool) []*Object {
	subjects := map[string][]rbacv1.Subject{}
	grant := func(role string, who ...rbacv1.Subject) { subjects[role] = append(subjects[role], who...) }
	home := ns.Origin == v1alpha1.OriginHome

	accounts := []rbacv1.Subject{serviceAccount(t.Name, t.Name), serviceAccount(ns.Name, t.Name)}
	grant(RoleAdmin, accounts...)
	if t.DeletionTimestamp.IsZero() {
		for _, o := range t.Spec.Owners {
			for _, role := range rolesIn(o, home) {
				grant(role, subject(o))
			}
		}
	}
	if home {
		who := Owners(t)
		grant(RoleOwner, who...)
		if mayGrow {
			grant(RoleGrower, who...)
		}
	}

	var all []*Object
	for _, role := range slices.Sorted(maps.Keys(subjects)) {
		all = append(all, object(&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: meta(t.Name, ns.Name, bindingName(role)),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   sorted(subjects[role]),
		}))
	}
	return all
}

// bindingName keeps bindings to a platform's own roles apart from ours.
func bindingName(role string) string {
	if strings.HasPrefix(role, "tenantry:") {
		return role
	}
	return "tenantry:role:" + role
}

// Owners are the identities that own the tenant: its home account and the owners
// whose role is admin.
func Owners(t *v1alpha1.Tenant) []rbacv1.Subject {
	who := []rbacv1.Subject{serviceAccount(t.Name, t.Name)}
	if !t.DeletionTimestamp.IsZero() {
		return who
	}
	for _, o := range t.Spec.Owners {
		if roleOf(o) == v1alpha1.RoleAdmin {
			who = append(who, subject(o))
		}
	}
	return who
}

// rolesIn are the roles of an owner in a namespace. At home whoever is no admin only
// looks: who may write Secrets or Pods beside the home account could become it, and
// with it an owner.
func rolesIn(o v1alpha1.Owner, home bool) []string {
	role := roleOf(o)
	if home && role != v1alpha1.RoleAdmin {
		return []string{RoleView}
	}
	var all []string
	if role != "" {
		all = append(all, "tenantry:"+string(role))
	}
	if home {
		return all
	}
	return append(all, o.ClusterRoles...)
}

// roleOf is the role of an owner: admin unless something else is asked for.
func roleOf(o v1alpha1.Owner) v1alpha1.Role {
	if o.Role == "" && len(o.ClusterRoles) == 0 {
		return v1alpha1.RoleAdmin
	}
	return o.Role
}

func subject(o v1alpha1.Owner) rbacv1.Subject {
	if o.Kind == v1alpha1.OwnerServiceAccount {
		return serviceAccount(o.Namespace, o.Name)
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: string(o.Kind), Name: o.Name}
}

func serviceAccount(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

// sorted orders subjects and drops repetitions.
func sorted(subjects []rbacv1.Subject) []rbacv1.Subject {
	slices.SortFunc(subjects, func(a, b rbacv1.Subject) int {
		return cmp.Or(
			strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name),
		)
	})
	return slices.Compact(subjects)
}
