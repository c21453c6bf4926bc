// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/attack"
)

// model is a tenant on which all attacks were played, and those of them that are played on
// every tenant that is like it: of each policy, one that its wall held.
type model struct {
	tenant string
	picks  []string
}

// newModel picks from what was played on a tenant. One that something got through to is no
// model: the others are to be attacked whole.
func newModel(tenant string, results []attack.Result) model {
	m, picked := model{tenant: tenant}, map[string]bool{}
	for _, r := range results {
		if r.Tenant != tenant {
			continue
		}
		if r.Outcome == attack.Through {
			return model{tenant: tenant}
		}
		if policy, _, _ := strings.Cut(r.Wall, "/"); r.Outcome == attack.Held && !picked[policy] {
			picked[policy] = true
			m.picks = append(m.picks, r.ID)
		}
	}
	return m
}

// rights are what is bound on a cluster, and what the roles let.
type rights struct {
	bindings   []rbacv1.RoleBinding
	everywhere []rbacv1.ClusterRoleBinding
	// rules of roles: of a ClusterRole by its name, of a Role by namespace/name.
	rules map[string][]rbacv1.PolicyRule
}

// of are the rules of a role that is bound in a namespace.
func (r rights) of(ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	if ref.Kind == "Role" {
		return r.rules[namespace+"/"+ref.Name]
	}
	return r.rules[ref.Name]
}

// shapesOf are what the walls around tenants are made of, without the tenants' names: two
// of one shape are alike. Policies are the same objects for all of them, and read no more
// of a tenant than its Tenant and its namespaces' labels and annotations; RBAC is what is
// bound to its people and accounts, wherever.
func shapesOf(cast attack.Cast, r rights) map[string]string {
	parts, subjects := map[string][]any{}, map[string][]string{}
	for _, t := range cast.Tenants {
		parts[t.Name] = []any{t.Spec, t.Labels}
		for _, o := range t.Spec.Owners {
			subjects[o.Name] = append(subjects[o.Name], t.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cast.Namespaces)) {
		ns := cast.Namespaces[name]
		t := ns.Labels[v1alpha1.TenantLabel]
		if parts[t] == nil {
			continue
		}
		parts[t] = append(parts[t], ns.Name, ns.Labels, notesOf(ns))
		subjects["in "+name] = append(subjects["in "+name], t)
	}
	add := func(all []rbacv1.Subject, except string, fields ...any) {
		for _, s := range all {
			for _, key := range keysOf(s) {
				for _, t := range subjects[key] {
					if t != except {
						parts[t] = append(parts[t], s, fields)
					}
				}
			}
		}
	}
	for i := range r.bindings {
		b := &r.bindings[i]
		rules, own := r.of(b.RoleRef, b.Namespace), ""
		if ns := cast.Namespaces[b.Namespace]; ns != nil && parts[ns.Labels[v1alpha1.TenantLabel]] != nil {
			own = ns.Labels[v1alpha1.TenantLabel]
			parts[own] = append(parts[own], b.Namespace, b.Name, rules, b.Subjects)
		}
		add(b.Subjects, own, b.Namespace, rules)
	}
	for i := range r.everywhere {
		add(r.everywhere[i].Subjects, "", r.of(r.everywhere[i].RoleRef, ""))
	}
	shapes := map[string]string{}
	for t, p := range parts {
		content, err := json.Marshal(p)
		if err != nil {
			content = []byte(t) // like nobody
		}
		// A name that is part of other words makes two tenants differ that don't, which
		// costs time and hides nothing.
		shapes[t] = strings.ReplaceAll(string(content), t, "TENANT")
	}
	return shapes
}

// notesOf are a namespace's annotations but for a sum of what is there.
func notesOf(ns *corev1.Namespace) map[string]string {
	notes := maps.Clone(ns.Annotations)
	delete(notes, v1alpha1.HashAnnotation)
	return notes
}

// keysOf are the names by which a subject may be of a tenant: as one of its owners, or by
// the namespace that its account is in.
func keysOf(s rbacv1.Subject) []string {
	keys := []string{s.Name}
	if s.Kind == rbacv1.ServiceAccountKind {
		keys = []string{"in " + s.Namespace, "system:serviceaccount:" + s.Namespace + ":" + s.Name, s.Namespace + "/" + s.Name, s.Namespace + ":" + s.Name}
	}
	if rest, ok := strings.CutPrefix(s.Name, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		keys = append(keys, "in "+namespace)
	}
	if namespace, ok := strings.CutPrefix(s.Name, "system:serviceaccounts:"); ok {
		keys = append(keys, "in "+namespace)
	}
	return keys
}
