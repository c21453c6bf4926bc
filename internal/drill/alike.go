// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

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

// newModel picks from what was played on a tenant.
func newModel(tenant string, results []attack.Result) model {
	m, picked := model{tenant: tenant}, map[string]bool{}
	for _, r := range results {
		policy, _, _ := strings.Cut(r.Wall, "/")
		if r.Tenant == tenant && r.Outcome == attack.Held && !picked[policy] {
			picked[policy] = true
			m.picks = append(m.picks, r.ID)
		}
	}
	return m
}

// shapesOf are what the walls around tenants are made of, without the tenants' names: two
// of one shape are alike. Policies are the same objects for all of them, and read no more
// of a tenant than its Tenant and its namespaces' labels and annotations; RBAC is what is
// bound to its people and accounts, wherever.
func shapesOf(cast attack.Cast, bindings []rbacv1.RoleBinding, everywhere []rbacv1.ClusterRoleBinding) map[string]string {
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
		notes := maps.Clone(ns.Annotations)
		delete(notes, v1alpha1.HashAnnotation) // a sum of what is there
		parts[t] = append(parts[t], ns.Name, ns.Labels, notes)
		subjects["in "+name] = append(subjects["in "+name], t)
		subjects["system:serviceaccounts:"+name] = append(subjects["system:serviceaccounts:"+name], t)
	}
	add := func(all []rbacv1.Subject, fields ...any) {
		for _, s := range all {
			key := s.Name
			if s.Kind == rbacv1.ServiceAccountKind {
				key = "in " + s.Namespace
			}
			for _, t := range subjects[key] {
				parts[t] = append(parts[t], s, fields)
			}
		}
	}
	for i := range bindings {
		b := &bindings[i]
		if ns := cast.Namespaces[b.Namespace]; ns != nil && parts[ns.Labels[v1alpha1.TenantLabel]] != nil {
			t := ns.Labels[v1alpha1.TenantLabel]
			parts[t] = append(parts[t], b.Namespace, b.Name, b.RoleRef, b.Subjects)
			continue
		}
		add(b.Subjects, b.Namespace, b.RoleRef)
	}
	for i := range everywhere {
		add(everywhere[i].Subjects, everywhere[i].RoleRef)
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
