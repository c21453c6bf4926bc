// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// bindings are who was bound to which ClusterRole, and where. An owner has its role in
// every namespace of the tenant, so who had it in some is none.
type bindings map[binding]map[string]field

type binding struct {
	subject
	clusterRole string
}

func (b bindings) add(s subject, clusterRole, ns string, at field) {
	key := binding{s, clusterRole}
	if b[key] == nil {
		b[key] = map[string]field{}
	}
	b[key][ns] = at
}

func (d *draft) decideOwners() {
	keys := slices.SortedFunc(maps.Keys(d.bound), func(a, b binding) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.namespace, b.namespace),
			strings.Compare(a.name, b.name), strings.Compare(a.clusterRole, b.clusterRole))
	})
	for _, k := range keys {
		d.decideOwner(k, d.bound[k])
	}
}

func (d *draft) decideOwner(k binding, where map[string]field) {
	bound := slices.Sorted(maps.Keys(where))
	for _, ns := range d.bounds.workplaces(d.name) {
		if _, ok := where[ns]; ok {
			continue
		}
		for _, b := range bound {
			where[b].tell(Do, "%s %s has ClusterRole %s in %s and not in %s, and an owner has its role in every namespace: it is left out; make it an owner, or bind it in the tenant's repository",
				k.kind, k.name, k.clusterRole, strings.Join(bound, ", "), ns)
		}
		return
	}
	role, rest := roles([]string{k.clusterRole})
	verdict := Changed
	if weaker(k.clusterRole) != "" {
		verdict = Stricter
	}
	for _, b := range bound {
		where[b].of.tellOf(where[b].path, verdict, "%s %s is an owner with %s, in every namespace of the tenant and those to come%s", k.kind, k.name, given(role, rest), weaker(k.clusterRole))
	}
	d.addOwner(where[bound[0]], k.subject, role, rest)
}

func given(role v1alpha1.Role, rest []string) string {
	if role != "" {
		return "role " + string(role)
	}
	return "ClusterRole " + strings.Join(rest, ", ")
}

// weaker tells what Tenantry's roles are without.
func weaker(clusterRole string) string {
	switch clusterRole {
	case "cluster-admin":
		return "; it is stricter than cluster-admin: nothing outside of the tenant and nothing that breaks out of it"
	case "admin", "edit":
		return "; it is stricter than Kubernetes' " + clusterRole + ": no impersonation and no tokens of accounts"
	}
	return ""
}
