// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"testing"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/policy"
)

// TestEveryRuleHasAnAttack holds the suite to the walls: one that no attack tests is a
// finding.
func TestEveryRuleHasAnAttack(t *testing.T) {
	t.Parallel()
	suite, err := attack.Load()
	if err != nil {
		t.Fatal(err)
	}
	walls := map[string]bool{}
	for _, a := range suite.Attacks {
		walls[a.Wall] = true
	}
	known := map[string]bool{attack.WallRBAC: true, attack.WallEscalation: true, attack.WallPodSecurity: true, attack.WallQuota: true}
	for _, p := range policy.All() {
		for _, r := range p.Rules {
			known[p.Rule(r)] = true
			if !walls[p.Rule(r)] {
				t.Errorf("no attack is on %s", p.Rule(r))
			}
		}
	}
	for _, a := range suite.Attacks {
		if !known[a.Wall] {
			t.Errorf("attack %s is on %s, which there is not", a.ID, a.Wall)
		}
	}
	if n := len(suite.Attacks); n < 150 {
		t.Errorf("%d attacks, want at least 150", n)
	}
	t.Logf("%d attacks", len(suite.Attacks))
}
