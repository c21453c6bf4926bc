// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestZMutations takes walls away and sees attacks get through: one whose attacks are
// refused without it holds nothing. It runs after the others and leaves the walls as
// they were.
func TestZMutations(t *testing.T) {
	api := testkit.Get(t)
	tenants(t, api)
	t.Run("rules", func(t *testing.T) { weakenRules(t, api) })
	t.Run("bindings of policies", func(t *testing.T) { unbind(t, api) })
	t.Run(attack.WallRBAC, func(t *testing.T) { widen(t, api) })
	t.Run(attack.WallPodSecurity, func(t *testing.T) { lowerLevel(t, api) })
	t.Run(attack.WallQuota, func(t *testing.T) { dropQuota(t, api) })
}

// weakenRules weakens one rule of every policy at a time.
func weakenRules(t *testing.T, api *testkit.API) {
	t.Cleanup(func() { testkit.Stand(t, api, policy.All()) })
	most := 0
	for _, p := range policy.All() {
		most = max(most, len(p.Rules))
	}
	for n := range most {
		weakened := policy.All()
		var rules []string
		for i := range weakened {
			p := &weakened[i]
			if n >= len(p.Rules) {
				continue
			}
			p.Rules = slices.Clone(p.Rules)
			p.Rules[n].CEL = "true"
			rules = append(rules, p.Rule(p.Rules[n]))
		}
		testkit.Stand(t, api, weakened)
		for _, rule := range notBreached(t, api, rules...) {
			t.Errorf("without %s its attacks are refused all the same", rule)
		}
	}
}

// notBreached plays the attacks on walls and returns the walls that none got through.
func notBreached(t *testing.T, api *testkit.API, walls ...string) []string {
	t.Helper()
	results := playOn(t, api, walls...)
	return slices.DeleteFunc(walls, func(w string) bool {
		return slices.ContainsFunc(results, func(r attack.Result) bool { return r.Wall == w && r.Outcome == attack.Through })
	})
}

// playOn plays the attacks on walls, on the tame tenants.
func playOn(t *testing.T, api *testkit.API, walls ...string) []attack.Result {
	t.Helper()
	return playIn(t, api, scenes(t, api), walls...)
}

func playIn(t *testing.T, api *testkit.API, in []attack.Scene, walls ...string) []attack.Result {
	t.Helper()
	suite, err := attack.Load()
	if err != nil {
		t.Fatal(err)
	}
	if suite, err = suite.Select(walls...); err != nil {
		t.Fatal(err)
	}
	kinds, err := attack.ReadKinds(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := attack.NewRunner(api.Config, attack.Options{Stage: true})
	if err != nil {
		t.Fatal(err)
	}
	results, err := runner.Run(t.Context(), suite, kinds, in...)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// unbind takes the binding of each policy away, one after the other in one go: what
// follows a policy is told by its attacks.
func unbind(t *testing.T, api *testkit.API) {
	t.Cleanup(func() { testkit.Stand(t, api, policy.All()) })
	var without []policy.Policy
	names := map[string]bool{}
	for i, p := range policy.All() {
		if i%2 == 0 { // half of them, so that the others are seen to stand
			names[p.Name] = true
			if err := api.Client.Delete(t.Context(), testkit.Binding(p.ObjectName())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		without = append(without, p)
	}
	testkit.Stand(t, api, without)
	breached := map[string]bool{}
	for _, r := range playOn(t, api) {
		if r.Outcome != attack.Through {
			continue
		}
		name, _, _ := cutWall(r.Wall)
		if !names[name] {
			t.Errorf("%s on %s gets through %s, which stands: %+v", r.ID, r.Tenant, r.Wall, r.Paths)
		}
		breached[name] = true
	}
	for name := range names {
		if !breached[name] {
			t.Errorf("without policy %s no attack gets through", name)
		}
	}
}

// widen gives a tenant's role every right, as a chart with an aggregated role may.
func widen(t *testing.T, api *testkit.API) {
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "wide", Labels: map[string]string{"tenantry.dev/aggregate-to-admin": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	if err := api.Client.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = api.Client.Delete(background(), role) }()
	testkit.Eventually(t, 30*time.Second, "the role is aggregated", func() error {
		return api.AsAccount(t, rich, rich).List(t.Context(), &corev1.ResourceQuotaList{}, client.InNamespace(rich))
	})
	testkit.Eventually(t, 30*time.Second, "attacks on RBAC get through", func() error { return breach(t, api, attack.WallRBAC) })
	testkit.Eventually(t, 30*time.Second, "escalations get through", func() error { return breach(t, api, attack.WallEscalation) })
}

func lowerLevel(t *testing.T, api *testkit.API) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: rich + "-web"}}
	set := func(level string) {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"`+level+`"}}}`))
		if err := api.Client.Patch(background(), ns, patch); err != nil {
			t.Fatal(err)
		}
	}
	set("privileged")
	defer set("baseline")
	testkit.Eventually(t, 10*time.Second, "Pods get through", func() error { return breach(t, api, attack.WallPodSecurity) })
}

func dropQuota(t *testing.T, api *testkit.API) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: rich + "-web", Name: "tenantry"}}
	if err := api.Client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "Pods get through", func() error { return breach(t, api, attack.WallQuota) })
}
