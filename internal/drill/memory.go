// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/audit"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/trial"
)

// memory is what the attacks showed, and on what: a tenant whose walls are as they were
// need not be attacked again, and of tenants that are alike all attacks are played on one.
type memory struct {
	walls   string
	tenants map[string]string
	models  map[string]model
	results map[string]trial.Attacked
	// through are findings of attacks, by tenant; read those of reading the cluster.
	through map[string][]trial.Finding
	read    []trial.Finding
}

// state is what decides how attacks end, as it is now.
type state struct {
	walls   string
	tenants map[string]string
	shapes  map[string]string
}

// look reads what decides how attacks end.
func look(ctx context.Context, cfg *rest.Config) (state, error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return state{}, err
	}
	cast, err := attack.ReadCast(ctx, c)
	if err != nil {
		return state{}, err
	}
	bindings, everywhere := &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}
	roles, clusterRoles := &rbacv1.RoleList{}, &rbacv1.ClusterRoleList{}
	policies, bound := &admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{}
	for _, l := range []client.ObjectList{bindings, everywhere, roles, clusterRoles, policies, bound} {
		if err := c.List(ctx, l); err != nil {
			return state{}, err
		}
	}
	r := rights{bindings: bindings.Items, everywhere: everywhere.Items, rules: map[string][]rbacv1.PolicyRule{}}
	s := state{tenants: map[string]string{}}
	var walls []string
	add := func(o client.Object, fields ...any) {
		walls = append(walls, fmt.Sprintf("%T %s/%s %v", o, o.GetNamespace(), o.GetName(), fields))
	}
	for i := range clusterRoles.Items {
		r.rules[clusterRoles.Items[i].Name] = clusterRoles.Items[i].Rules
		add(&clusterRoles.Items[i], clusterRoles.Items[i].Rules)
	}
	for i := range everywhere.Items {
		add(&everywhere.Items[i], everywhere.Items[i].RoleRef, everywhere.Items[i].Subjects)
	}
	for i := range policies.Items {
		add(&policies.Items[i], policies.Items[i].UID, policies.Items[i].Generation)
	}
	for i := range bound.Items {
		add(&bound.Items[i], bound.Items[i].UID, bound.Items[i].Generation)
	}
	// What is in a tenant's namespaces is the tenant's own, and the rest everybody's.
	for _, t := range cast.Tenants {
		s.tenants[t.Name] = fmt.Sprintf("%s/%d ", t.UID, t.Generation)
	}
	own := func(o client.Object, fields ...any) {
		ns := cast.Namespaces[o.GetNamespace()]
		if ns == nil || s.tenants[ns.Labels[v1alpha1.TenantLabel]] == "" {
			add(o, fields...)
			return
		}
		s.tenants[ns.Labels[v1alpha1.TenantLabel]] += fmt.Sprintf("%T %s/%s %v ", o, o.GetNamespace(), o.GetName(), fields)
	}
	for _, name := range slices.Sorted(maps.Keys(cast.Namespaces)) {
		ns := cast.Namespaces[name]
		if t := ns.Labels[v1alpha1.TenantLabel]; s.tenants[t] != "" {
			s.tenants[t] += fmt.Sprintf("%s/%v/%v ", ns.UID, ns.Labels, notesOf(ns))
		}
	}
	for i := range roles.Items {
		r.rules[roles.Items[i].Namespace+"/"+roles.Items[i].Name] = roles.Items[i].Rules
		own(&roles.Items[i], roles.Items[i].Rules)
	}
	for i := range bindings.Items {
		own(&bindings.Items[i], bindings.Items[i].RoleRef, bindings.Items[i].Subjects)
	}
	slices.Sort(walls)
	s.walls, s.shapes = strings.Join(walls, "\n"), shapesOf(cast, r)
	return s, nil
}

// changed are the tenants that are not as they were when they were attacked last, by their
// shapes. Of what is gone nothing is remembered.
func (m *memory) changed(now state) map[string][]string {
	if now.walls != m.walls {
		m.models = map[string]model{}
	}
	all := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(now.tenants)) {
		if now.walls != m.walls || now.tenants[name] != m.tenants[name] {
			all[now.shapes[name]] = append(all[now.shapes[name]], name)
		}
	}
	for shape, model := range m.models {
		if now.shapes[model.tenant] != shape || slices.Contains(all[shape], model.tenant) {
			delete(m.models, shape) // it is like that no more, or has to show it anew
		}
	}
	gone := func(name string) bool { return now.tenants[name] == "" }
	maps.DeleteFunc(m.results, func(name string, _ trial.Attacked) bool { return gone(name) })
	maps.DeleteFunc(m.through, func(name string, _ []trial.Finding) bool { return gone(name) })
	return all
}

// take notes what attacks showed.
func (m *memory) take(found *audit.Outcome, alike string) {
	if m.results == nil {
		m.results, m.through = map[string]trial.Attacked{}, map[string][]trial.Finding{}
	}
	for _, t := range found.Tenants {
		m.results[t] = attacked(t, alike, found.Results)
		m.through[t] = nil
	}
	for _, f := range found.Findings {
		if next := findingOf(f); !slices.Contains(m.through[f.Tenant], next) {
			m.through[f.Tenant] = append(m.through[f.Tenant], next)
		}
	}
}

func findingOf(f audit.Finding) trial.Finding {
	return trial.Finding{ID: f.ID, Error: f.Severity == audit.Error, Tenant: f.Tenant, Object: f.Object, Message: f.Message, Mend: f.Mend}
}

// findings are all, those first that open a wall.
func (m *memory) findings() []trial.Finding {
	var all []trial.Finding
	for _, name := range slices.Sorted(maps.Keys(m.through)) {
		all = append(all, m.through[name]...)
	}
	for _, f := range m.read {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	rank := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(all, func(a, b trial.Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Error], rank[b.Error]), strings.Compare(a.ID, b.ID))
	})
	return all
}

// attacked counts how the attacks on a tenant ended, by wall.
func attacked(tenant, alike string, results []attack.Result) trial.Attacked {
	byWall, untested := map[string]*trial.Wall{}, map[string]int{}
	for _, r := range results {
		if r.Tenant != tenant {
			continue
		}
		w := byWall[r.Wall]
		if w == nil {
			w = &trial.Wall{Name: r.Wall}
			byWall[r.Wall] = w
		}
		switch r.Outcome {
		case attack.Held:
			w.Held++
		case attack.Through:
			w.Through++
		case attack.Excepted:
			w.Excepted++
		default:
			w.NotTested++
			untested[r.Reason]++
		}
	}
	out := trial.Attacked{Tenant: tenant, Alike: alike, Untested: untested}
	for _, name := range slices.Sorted(maps.Keys(byWall)) {
		out.Walls = append(out.Walls, *byWall[name])
	}
	return out
}

func (m *memory) attacks() []trial.Attacked {
	var all []trial.Attacked
	for _, name := range slices.Sorted(maps.Keys(m.results)) {
		all = append(all, m.results[name])
	}
	return all
}
