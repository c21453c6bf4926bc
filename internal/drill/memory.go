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
	walls    string
	tenants  map[string]string
	models   map[string]model
	results  map[string]trial.Attacked
	findings []trial.Finding
	skipped  map[string]string
}

// changed are the tenants whose walls are not as they were when they were attacked last,
// by their shapes.
func (m *memory) changed(ctx context.Context, cfg *rest.Config) (map[string][]string, error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return nil, err
	}
	cast, err := attack.ReadCast(ctx, c)
	if err != nil {
		return nil, err
	}
	bindings, everywhere := &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}
	for _, l := range []client.ObjectList{bindings, everywhere} {
		if err := c.List(ctx, l); err != nil {
			return nil, err
		}
	}
	walls, own, err := fingerprints(ctx, c, cast, bindings.Items, everywhere.Items)
	if err != nil {
		return nil, err
	}
	if walls != m.walls {
		m.models = map[string]model{}
	}
	shapes, all := shapesOf(cast, bindings.Items, everywhere.Items), map[string][]string{}
	for _, t := range cast.Tenants {
		if walls != m.walls || own[t.Name] != m.tenants[t.Name] {
			all[shapes[t.Name]] = append(all[shapes[t.Name]], t.Name)
		}
	}
	for name := range m.results {
		if _, ok := own[name]; !ok {
			delete(m.results, name)
		}
	}
	m.walls, m.tenants = walls, own
	return all, nil
}

// fingerprints tell whether the walls of all tenants changed, or what is the tenants' own:
// their Tenant, Namespaces and bindings.
func fingerprints(ctx context.Context, c client.Client, cast attack.Cast, bindings []rbacv1.RoleBinding, everywhere []rbacv1.ClusterRoleBinding) (walls string, own map[string]string, err error) {
	own = map[string]string{}
	for _, t := range cast.Tenants {
		own[t.Name] = fmt.Sprintf("%s/%d ", t.UID, t.Generation)
	}
	names := slices.Sorted(maps.Keys(cast.Namespaces))
	for _, n := range names {
		ns := cast.Namespaces[n]
		own[ns.Labels[v1alpha1.TenantLabel]] += fmt.Sprintf("%s/%v ", ns.UID, ns.Labels)
	}
	roles := &rbacv1.ClusterRoleList{}
	policies, bound := &admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{}
	for _, l := range []client.ObjectList{roles, policies, bound} {
		if err := c.List(ctx, l); err != nil {
			return "", nil, err
		}
	}
	for i := range bindings {
		b := &bindings[i]
		if ns := cast.Namespaces[b.Namespace]; ns != nil {
			own[ns.Labels[v1alpha1.TenantLabel]] += b.ResourceVersion + " "
		}
	}
	var all []string
	add := func(o client.Object, fields ...any) {
		all = append(all, fmt.Sprintf("%T %s %v", o, o.GetName(), fields))
	}
	for i := range everywhere {
		add(&everywhere[i], everywhere[i].ResourceVersion)
	}
	for i := range roles.Items {
		add(&roles.Items[i], roles.Items[i].Rules)
	}
	for i := range policies.Items {
		add(&policies.Items[i], policies.Items[i].Generation)
	}
	for i := range bound.Items {
		add(&bound.Items[i], bound.Items[i].Generation)
	}
	slices.Sort(all)
	return strings.Join(all, "\n"), own, nil
}

// take notes what an audit found.
func (m *memory) take(found *audit.Outcome, alike string) {
	if m.results == nil {
		m.results = map[string]trial.Attacked{}
	}
	for _, t := range found.Tenants {
		m.results[t] = attacked(t, alike, found.Results)
	}
	// Of tenants that were not attacked now, what was found stands.
	read := found.Skipped != nil // the cluster was read too
	kept := slices.DeleteFunc(m.findings, func(f trial.Finding) bool {
		return f.Tenant == "" && read || slices.Contains(found.Tenants, f.Tenant)
	})
	for _, f := range found.Findings {
		next := trial.Finding{ID: f.ID, Error: f.Severity == audit.Error, Tenant: f.Tenant, Object: f.Object, Message: f.Message, Mend: f.Mend}
		if !slices.Contains(kept, next) {
			kept = append(kept, next)
		}
	}
	slices.SortStableFunc(kept, func(a, b trial.Finding) int {
		if a.Error != b.Error {
			return cmp.Compare(map[bool]int{true: 0, false: 1}[a.Error], map[bool]int{true: 0, false: 1}[b.Error])
		}
		return strings.Compare(a.ID, b.ID)
	})
	m.findings = kept
	if read {
		m.skipped = found.Skipped
	}
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

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
