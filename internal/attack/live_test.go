// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"testing"
	"time"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestWallsHold plays every attack on every tenant: with the controller running, with
// it stopped, and from the moment that a killed API server says that it is ready again.
func TestWallsHold(t *testing.T) {
	api := testkit.Get(t)
	tenants(t, api)
	stop := testkit.StartController(t, api)
	held, why := map[string]bool{}, map[string]string{}
	note := func(results []attack.Result) {
		for _, r := range results {
			held[r.ID] = held[r.ID] || r.Outcome == attack.Held
			why[r.ID] += "\n\t" + r.Tenant + ": " + r.Reason
		}
	}
	note(play(t, api, "with the controller"))
	stop()
	note(play(t, api, "with the controller stopped"))
	if err := api.Plane.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	note(play(t, api, "after a restart of the API server"))
	suite, err := attack.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range suite.Attacks {
		if !held[a.ID] {
			t.Errorf("%s was held nowhere:%s", a.ID, why[a.ID])
		}
	}
}

// play plays the whole suite, changes of harmless objects included.
func play(t *testing.T, api *testkit.API, when string) []attack.Result {
	t.Helper()
	suite, err := attack.Load()
	if err != nil {
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
	start := time.Now()
	results, err := runner.Run(t.Context(), suite, kinds, scenes(t, api)...)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[attack.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
		if r.Outcome == attack.Through {
			t.Errorf("%s, %s on %s: %s gets through %s: %+v", when, r.ID, r.Tenant, r.As, r.Wall, r.Paths)
		}
	}
	t.Logf("%s: %v in %s", when, counts, time.Since(start).Round(time.Millisecond))
	return results
}
