// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestUpgradeUnderLoad replaces every policy and role by another version and back while
// attacks run without a pause. Not one may get through at any moment.
func TestUpgradeUnderLoad(t *testing.T) {
	api := testkit.Get(t)
	tenants(t, api)
	t.Cleanup(func() { testkit.Stand(t, api, policy.All()) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds := besiege(ctx, t, api)

	installer, err := install.New(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		testkit.Stand(t, api, otherVersion())
		role := &rbacv1.ClusterRole{}
		role.Name = "tenantry:base-edit"
		if err := api.Client.Get(ctx, nameOf(role), role); err != nil {
			t.Fatal(err)
		}
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{"get"}})
		if err := api.Client.Update(ctx, role); err != nil {
			t.Fatal(err)
		}
		// Writes this version, and retires what only the other one had.
		if _, err := installer.Install(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	n := rounds()
	if n < 4 {
		t.Errorf("the attackers made %d rounds: too few to have seen anything", n)
	}
	t.Logf("%d rounds of attacks", n)
}

// otherVersion is every policy with other words and more rules, and one under another
// name, as a version to come may have them.
func otherVersion() []policy.Policy {
	all := policy.All()
	for i := range all {
		p := &all[i]
		p.Why += " This is another version."
		p.Rules = slices.Clone(p.Rules)
		for j := range p.Rules {
			p.Rules[j].Message = `'another version: ' + ` + p.Rules[j].Message
		}
		p.Rules = append(p.Rules, policy.Rule{ID: "later", CEL: `true`, Message: `'x'`})
	}
	renamed := policy.Services[0]
	renamed.Name = "later-services"
	return append(all, renamed)
}

// besiege attacks until the context ends. The function that it returns waits for the
// end and gives the number of rounds.
func besiege(ctx context.Context, t *testing.T, api *testkit.API) func() int {
	t.Helper()
	suite, err := attack.Load()
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := attack.ReadKinds(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	// One tenant, so that each attack comes round often.
	all := slices.DeleteFunc(scenes(t, api), func(sc attack.Scene) bool { return sc.Tenant != rich })
	rounds := 0
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			runner, err := attack.NewRunner(api.Config, attack.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			results, err := runner.Run(ctx, suite, kinds, all...)
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
				return
			}
			for _, r := range results {
				if r.Outcome == attack.Through {
					t.Errorf("%s gets through %s on %s: %+v", r.ID, r.Wall, r.Tenant, r.Paths)
				}
			}
			rounds++
		}
	})
	return func() int {
		group.Wait()
		return rounds
	}
}
