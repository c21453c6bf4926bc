// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/render"
)

func staging(t *testing.T) *render.Cluster {
	t.Helper()
	f, err := render.Open("../../examples/fleet", render.Options{Now: time.Now(), Whole: true, At: map[string]string{
		"https://git.example.com/oil/apps": "../../examples/tenants/oil", "https://git.example.com/gas/apps": "../../examples/tenants/gas",
	}})
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster("staging")
}

// A row is told of with the line of what its message is about, or of what declares it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := NewPlaces(staging(t))
	for name, tc := range map[string]struct {
		row  local.Row
		want string
	}{
		"a Tenant":            {local.Row{Kind: "Tenant", Name: "oil", Health: local.Ready}, "examples/fleet/tenants/base/oil/tenant.yaml:2"},
		"a sync of a Tenant":  {local.Row{Kind: "Sync", Namespace: "oil", Name: "apps", Health: local.Ready}, "examples/fleet/tenants/staging/oil-patch.yaml:7"},
		"the platform's own":  {local.Row{Kind: "Kustomization", Namespace: "flux-system", Name: "tenants", Health: local.Ready}, "examples/fleet/clusters/staging/tenants.yaml:1"},
		"an object it names":  {local.Row{Kind: "Sync", Namespace: "oil", Name: "apps", Health: local.Failed, Message: "Deployment/oil-web/web dry-run failed: x"}, "examples/tenants/oil/base/web.yaml:1"},
		"one without a place": {local.Row{Kind: "Sync", Namespace: "oil", Name: "apps", Health: local.Failed, Message: "Namespace/oil-web is terminating"}, "examples/tenants/oil/base/namespace.yaml:2"},
		"a source":            {local.Row{Kind: "Sync", Namespace: "gas", Name: "apps", Health: local.Failed, Message: "source: unable to clone"}, "examples/fleet/tenants/staging/gas-patch.yaml:9"},
		"a release":           {local.Row{Kind: "HelmRelease", Namespace: "oil", Name: "greeter", Health: local.Failed, Message: "install retries exhausted"}, "examples/tenants/oil/base/greeter.yaml:2"},
		"a Pod":               {local.Row{Kind: "Pod", Namespace: "oil-web", Name: "web-6c8f9b7d5-abcde", Health: local.Failed, Message: "no node"}, "examples/tenants/oil/base/web.yaml:1"},
		"a ReplicaSet":        {local.Row{Kind: "ReplicaSet", Namespace: "oil-web", Name: "web-6c8f9b7d5", Health: local.Failed}, "examples/tenants/oil/base/web.yaml:1"},
		"nobody's":            {local.Row{Kind: "Pod", Namespace: "oil-web", Name: "else", Health: local.Failed}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := p.Of(tc.row)
			if got := place.String(); tc.want == "" && place.File != "" || !strings.Contains(got, tc.want) {
				t.Errorf("it is from %q, want %q", got, tc.want)
			}
		})
	}
	if place := (Places{}).Of(local.Row{Kind: "Tenant", Name: "oil"}); place.File != "" {
		t.Errorf("a fleet that can't be rendered has the place %v", place)
	}
}

func TestFluxRunsAsTheFleetSays(t *testing.T) {
	t.Parallel()
	c := staging(t)
	args := FluxArgs(c)
	if got := args["kustomize-controller"]; !slices.Contains(got, "--no-remote-bases=true") || !slices.Contains(got, "--default-service-account=default") {
		t.Errorf("kustomize-controller runs with %q", got)
	}
	if got := args["source-controller"]; len(got) != 0 {
		t.Errorf("source-controller runs with %q", got)
	}
	if url := RootURL(c); url != "https://git.example.com/platform/fleet" {
		t.Errorf("the root is %q", url)
	}
}

// cast is two tenants that are alike.
func cast() (attack.Cast, []rbacv1.RoleBinding) {
	c := attack.Cast{Namespaces: map[string]*corev1.Namespace{}}
	var bindings []rbacv1.RoleBinding
	for _, name := range []string{"gas", "oil"} {
		t := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
		t.Spec.Owners = []v1alpha1.Owner{{Kind: v1alpha1.OwnerGroup, Name: name + "-team"}}
		c.Tenants = append(c.Tenants, t)
		for _, ns := range []string{name, name + "-web"} {
			c.Namespaces[ns] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: ns, Labels: map[string]string{v1alpha1.TenantLabel: name}, Annotations: map[string]string{v1alpha1.HashAnnotation: "of " + ns + "!"},
			}}
			bindings = append(bindings, rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "admin"}, RoleRef: rbacv1.RoleRef{Name: "admin"},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: name + "-team"}},
			})
		}
	}
	return c, bindings
}

// Tenants are alike when nothing but their names tells them apart, and whatever changes
// what they may do makes them unlike.
func TestShapes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*attack.Cast, *[]rbacv1.RoleBinding, *[]rbacv1.ClusterRoleBinding)
		alike  bool
	}{
		"but for their names": {func(*attack.Cast, *[]rbacv1.RoleBinding, *[]rbacv1.ClusterRoleBinding) {}, true},
		"the sum of what was applied": {func(c *attack.Cast, _ *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			c.Namespaces["oil"].Annotations[v1alpha1.HashAnnotation] = "another"
		}, true},
		"a binding of somebody else": {func(_ *attack.Cast, _ *[]rbacv1.RoleBinding, e *[]rbacv1.ClusterRoleBinding) {
			*e = append(*e, rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{Name: "x"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "platform"}}})
		}, true},
		"a field of the Tenant": {func(c *attack.Cast, _ *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			c.Tenants[0].Spec.Domains = []string{"example.com"}
		}, false},
		"a label of a namespace": {func(c *attack.Cast, _ *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			c.Namespaces["oil-web"].Labels["x"] = "y"
		}, false},
		"another namespace": {func(c *attack.Cast, _ *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			c.Namespaces["oil-lab"] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "oil-lab", Labels: map[string]string{v1alpha1.TenantLabel: "oil"}}}
		}, false},
		"another role in its namespace": {func(_ *attack.Cast, b *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			(*b)[0].RoleRef.Name = "cluster-admin"
		}, false},
		"a role of its own name with other rules": {func(_ *attack.Cast, b *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			(*b)[0].RoleRef.Name, (*b)[2].RoleRef.Name = "gas-extra", "oil-extra"
		}, false},
		"a right of its people with another tenant": {func(_ *attack.Cast, b *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			(*b)[0].Subjects = append((*b)[0].Subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "oil-team"})
			(*b)[2].Subjects = append((*b)[2].Subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "another"})
		}, false},
		"a right of its account as a user": {func(_ *attack.Cast, _ *[]rbacv1.RoleBinding, e *[]rbacv1.ClusterRoleBinding) {
			*e = append(*e, rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "system:serviceaccount:oil-web:default"}}})
		}, false},
		"a right of its people elsewhere": {func(_ *attack.Cast, b *[]rbacv1.RoleBinding, _ *[]rbacv1.ClusterRoleBinding) {
			*b = append(*b, rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "platform"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "oil-team"}}})
		}, false},
		"a right of its account everywhere": {func(_ *attack.Cast, _ *[]rbacv1.RoleBinding, e *[]rbacv1.ClusterRoleBinding) {
			*e = append(*e, rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "oil-web", Name: "default"}}})
		}, false},
		"a right of its accounts as a group": {func(_ *attack.Cast, _ *[]rbacv1.RoleBinding, e *[]rbacv1.ClusterRoleBinding) {
			*e = append(*e, rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:oil"}}})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, bindings := cast()
			var everywhere []rbacv1.ClusterRoleBinding
			tc.change(&c, &bindings, &everywhere)
			shapes := shapesOf(c, rights{bindings: bindings, everywhere: everywhere, rules: map[string][]rbacv1.PolicyRule{
				"admin": {{Verbs: []string{"get"}}}, "cluster-admin": {{Verbs: []string{"*"}}}, "oil-extra": {{Verbs: []string{"list"}}}, "gas-extra": {{Verbs: []string{"delete"}}},
			}})
			if alike := shapes["oil"] == shapes["gas"]; alike != tc.alike {
				t.Errorf("alike is %v:\n%s\n%s", alike, shapes["oil"], shapes["gas"])
			}
		})
	}
}

func TestAModelPicksOneHeldAttackOfEachPolicy(t *testing.T) {
	t.Parallel()
	m := newModel("oil", []attack.Result{
		{ID: "a", Tenant: "oil", Wall: "pods/x", Outcome: attack.NotTested},
		{ID: "b", Tenant: "gas", Wall: "pods/x", Outcome: attack.Held},
		{ID: "c", Tenant: "oil", Wall: "pods/y", Outcome: attack.Held},
		{ID: "d", Tenant: "oil", Wall: "pods/z", Outcome: attack.Held},
		{ID: "e", Tenant: "oil", Wall: "rbac", Outcome: attack.Held},
	})
	if want := []string{"c", "e"}; !slices.Equal(m.picks, want) {
		t.Errorf("it picks %q, want %q", m.picks, want)
	}
	if m := newModel("oil", []attack.Result{{ID: "a", Tenant: "oil", Wall: "rbac", Outcome: attack.Held}, {ID: "b", Tenant: "oil", Wall: "rbac", Outcome: attack.Through}}); len(m.picks) != 0 {
		t.Errorf("one whose wall is open is a model: %q", m.picks)
	}
}

// A tenant is attacked again when it, or the walls of all, changed; a model that is like
// that no more is none.
func TestWhatChangedIsAttackedAgain(t *testing.T) {
	t.Parallel()
	m := &memory{}
	round := func(walls, gas, oil string) map[string][]string {
		now := state{walls: walls, tenants: map[string]string{}, shapes: map[string]string{}}
		for name, shape := range map[string]string{"gas": gas, "oil": oil} {
			if shape != "" {
				now.tenants[name], now.shapes[name] = name+" "+shape, shape
			}
		}
		changed := m.changed(now)
		for shape, names := range changed {
			if _, ok := m.models[shape]; !ok {
				m.models[shape] = model{tenant: names[0], picks: []string{"a"}}
			}
		}
		m.walls, m.tenants = now.walls, now.tenants
		return changed
	}
	for i, step := range []struct {
		walls, gas, oil string
		changed         string
		model           string
	}{
		{"w", "A", "A", "[gas oil]", "gas"},
		{"w", "A", "A", "[]", "gas"},
		{"w", "A", "B", "[oil]", "gas"},
		{"w", "A", "A", "[oil]", "gas"}, // undone: like gas again
		{"w", "B", "A", "[gas]", ""},
		{"w", "A", "A", "[gas]", "gas"}, // the model shows it anew
		{"v", "A", "A", "[gas oil]", "gas"},
		{"v", "A", "", "[]", "gas"},
	} {
		var names []string
		for _, n := range round(step.walls, step.gas, step.oil) {
			names = append(names, n...)
		}
		slices.Sort(names)
		if got := fmt.Sprint(names); got != step.changed {
			t.Errorf("step %d: changed are %s, want %s", i, got, step.changed)
		}
		if got := m.models["A"].tenant; got != step.model {
			t.Errorf("step %d: the model of A is %q, want %q", i, got, step.model)
		}
	}
}
