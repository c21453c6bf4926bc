// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

const (
	controllerNamespace = "tenantry-system"
	controllerAccount   = "tenantry-controller"
)

// controllerRights finds bindings of the controller's account that Tenantry did not make.
func controllerRights(f *Facts) []Finding {
	own := map[string]bool{}
	for _, o := range f.Expected {
		own[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = true
	}
	var all []Finding
	for _, b := range f.bindings() {
		if own[b.kind+" "+b.namespace+"/"+b.name] || !slices.ContainsFunc(b.subjects, isController) {
			continue
		}
		all = append(all, Finding{
			Severity: Error, Wall: "rbac", Object: b.String(),
			Message: "gives Tenantry's controller " + b.role.Kind + " " + b.role.Name + ", which is no right of its own",
			Mend:    "remove the binding; to let tenants have a role of the platform's, grant bind on it by a ClusterRole with the label " + aggregatePrefix + `controller: "true"`,
		})
	}
	return all
}

func isController(s rbacv1.Subject) bool {
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		return s.Namespace == controllerNamespace && s.Name == controllerAccount
	case rbacv1.UserKind:
		return s.Name == "system:serviceaccount:"+controllerNamespace+":"+controllerAccount
	default:
		return s.Name == "system:serviceaccounts:"+controllerNamespace
	}
}

// bound is a binding of either kind.
type bound struct {
	kind, namespace, name string
	labels                map[string]string
	role                  rbacv1.RoleRef
	subjects              []rbacv1.Subject
}

func (b bound) String() string {
	if b.namespace == "" {
		return b.kind + " " + b.name
	}
	return b.kind + " " + b.namespace + "/" + b.name
}

func (f *Facts) bindings() []bound {
	var all []bound
	for _, b := range f.ClusterRoleBindings {
		all = append(all, bound{"ClusterRoleBinding", "", b.Name, b.Labels, b.RoleRef, b.Subjects})
	}
	for _, b := range f.RoleBindings {
		all = append(all, bound{"RoleBinding", b.Namespace, b.Name, b.Labels, b.RoleRef, b.Subjects})
	}
	return all
}

// rules of the role of a binding.
func (f *Facts) rules(b bound) []rbacv1.PolicyRule {
	if b.role.Kind == "ClusterRole" {
		if r := f.clusterRole(b.role.Name); r != nil {
			return r.Rules
		}
		return nil
	}
	for _, r := range f.Roles {
		if r.Namespace == b.namespace && r.Name == b.role.Name {
			return r.Rules
		}
	}
	return nil
}

// rightsFromElsewhere finds bindings that give somebody of a tenant something which its
// Tenant does not: on the whole cluster, in namespaces of others, or more than a tenant's
// role in its own.
func rightsFromElsewhere(f *Facts) []Finding {
	own := map[string]bool{}
	for _, o := range f.Expected {
		own[o.GetKind()+" "+o.GetName()] = true
	}
	var all []Finding
	for _, b := range f.bindings() {
		if b.labels["kubernetes.io/bootstrapping"] == "rbac-defaults" || b.labels[v1alpha1.ManagedLabel] != "" || b.namespace == "" && own[b.String()] {
			continue
		}
		for _, s := range b.subjects {
			for _, tenant := range f.tenantsOf(s) {
				if found, ok := f.elsewhere(b, s, tenant); ok {
					all = append(all, found)
				}
			}
		}
	}
	return all
}

func (f *Facts) elsewhere(b bound, s rbacv1.Subject, tenant string) (Finding, bool) {
	found := Finding{
		Severity: Warning, Tenant: tenant, Wall: "rbac", Object: b.String(),
		Mend: "remove the subject, or the binding if nothing else needs it",
	}
	rules := f.rules(b)
	dangers := dangers(rules)
	where := "on the whole cluster"
	if b.namespace != "" {
		where = "in namespace " + b.namespace
		if f.tenantOf(b.namespace) == tenant {
			// Its own: only what breaks out of it counts.
			if len(dangers) == 0 {
				return found, false
			}
			where = "in its own namespace " + b.namespace
		}
	}
	found.Message = fmt.Sprintf("gives %s %s %s %s", describe(s), b.role.Kind, b.role.Name, where)
	secrets := slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return hits(r.APIGroups, "") && hits(r.Resources, "secrets") && (hits(r.Verbs, "get") || hits(r.Verbs, "list") || hits(r.Verbs, "watch"))
	})
	if f.tenantOf(b.namespace) != tenant && secrets {
		dangers = append(dangers, "reads Secrets of others")
	}
	if f.tenantOf(b.namespace) != "" && f.tenantOf(b.namespace) != tenant {
		// Whom a tenant lets in is its own affair; accounts are held by a policy.
		found.Severity = Info
		found.Message += " of tenant " + f.tenantOf(b.namespace)
		return found, true
	}
	if len(dangers) > 0 {
		found.Severity = Error
		if b.namespace != "" && f.tenantOf(b.namespace) == tenant {
			found.Severity = Warning // the walls behind RBAC still stand
		}
		found.Message += ", which " + strings.Join(dangers, ", ")
	}
	return found, true
}

func describe(s rbacv1.Subject) string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return "ServiceAccount " + s.Namespace + "/" + s.Name
	}
	return s.Kind + " " + s.Name
}

// tenantsOf are the tenants that a subject is of. Groups that everybody is in count
// for all tenants as one.
func (f *Facts) tenantsOf(s rbacv1.Subject) []string {
	namespace := ""
	switch {
	case s.Kind == rbacv1.ServiceAccountKind:
		namespace = s.Namespace
	case s.Kind == rbacv1.UserKind && strings.HasPrefix(s.Name, "system:serviceaccount:"):
		namespace = strings.SplitN(s.Name, ":", 4)[2]
	case s.Kind == rbacv1.GroupKind && strings.HasPrefix(s.Name, "system:serviceaccounts:"):
		namespace = strings.TrimPrefix(s.Name, "system:serviceaccounts:")
	case s.Kind == rbacv1.GroupKind && slices.Contains([]string{"system:serviceaccounts", "system:authenticated", "system:unauthenticated"}, s.Name):
		return []string{everybody}
	}
	if namespace != "" {
		if t := f.tenantOf(namespace); t != "" {
			return []string{t}
		}
	}
	var all []string
	for _, t := range f.Tenants {
		for _, o := range t.Spec.Owners {
			if string(o.Kind) == s.Kind && o.Name == s.Name && (o.Kind != v1alpha1.OwnerServiceAccount || o.Namespace == s.Namespace) {
				all = append(all, t.Name)
			}
		}
	}
	return all
}

// everybody stands for all tenants.
const everybody = "*"
