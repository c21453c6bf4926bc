// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestZMutations weakens one rule of every policy at a time, and sees that an attack on
// it gets through: a rule whose attacks are refused without it holds nothing. It runs
// after the tables, and leaves the walls as they were.
func TestZMutations(t *testing.T) {
	api := testkit.Get(t)
	learn(t, api)
	all := tables(t)
	attacks := map[string][]func() error{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		prepare(t, api, name, all[name])
		for _, tc := range all[name].Cases {
			if tc.Refused == "" {
				continue
			}
			for _, do := range tc.paths(t, api, name, all[name]) {
				attacks[tc.Refused] = append(attacks[tc.Refused], do)
			}
		}
	}
	t.Cleanup(func() { stand(t, api, policy.All()) })
	most := 0
	for _, p := range policy.All() {
		most = max(most, len(p.Rules))
	}
	for n := range most {
		weakened := policy.All()
		var rules []string
		for i := range weakened {
			p := &weakened[i]
			// Whose attacks are no manifests, and are tried elsewhere in this package.
			if n >= len(p.Rules) || len(attacks[p.Rule(p.Rules[n])]) == 0 {
				continue
			}
			p.Rules = slices.Clone(p.Rules)
			p.Rules[n].CEL = "true"
			rules = append(rules, p.Rule(p.Rules[n]))
		}
		stand(t, api, weakened)
		for _, rule := range rules {
			var last error
			through := slices.ContainsFunc(attacks[rule], func(do func() error) bool {
				last = do()
				return last == nil
			})
			if !through {
				t.Errorf("without %s its attacks are refused all the same, the last so: %v", rule, last)
			}
		}
	}
}

// stand writes a set of policies and waits until the API server holds to it.
func stand(t *testing.T, api *testkit.API, all []policy.Policy) {
	t.Helper()
	ctx := background()
	var set []runtime.Object
	for _, p := range all {
		set = append(set, p.Objects()...)
	}
	applySet(t, api, set)
	for _, mark := range []string{"first-" + policy.Digest(set), policy.Digest(set)} {
		canary, binding := policy.Canary(mark)
		applySet(t, api, []runtime.Object{canary, binding})
		testkit.Eventually(t, 30*time.Second, "the policies are held to", func() error {
			err := api.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: policy.CanaryPrefix}}, client.DryRunAll)
			if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "/"+mark+"]") {
				return nil
			}
			return fmt.Errorf("answered %w", err)
		})
	}
}

func applySet(t *testing.T, api *testkit.API, set []runtime.Object) {
	t.Helper()
	for _, o := range set {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		delete(fields, "status")
		u := &unstructured.Unstructured{Object: fields}
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		if err := kube.Apply(background(), api.Client, u); err != nil {
			t.Fatal(err)
		}
	}
}
