// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tenantry/tenantry/internal/attack"
)

// auditTenants is how many tenants are attacked after one was.
const auditTenants = 100

// auditing measures the isolation suite on one tenant and on many.
func auditing(ctx context.Context, b *bench) error {
	ctl, err := startController(ctx, b)
	if err != nil {
		return err
	}
	defer ctl.stop()
	if _, err := ready(ctx, b, auditTenants); err != nil {
		return err
	}
	suite, err := attack.Load()
	if err != nil {
		return err
	}
	kinds, err := attack.ReadKinds(b.config)
	if err != nil {
		return err
	}
	cast, err := attack.ReadCast(ctx, b.client)
	if err != nil {
		return err
	}
	var scenes []attack.Scene
	for _, t := range cast.Tenants {
		sc, err := cast.Scene(t.Name)
		if err != nil {
			return err
		}
		scenes = append(scenes, sc)
	}
	fmt.Printf("| the suite of %d attacks | tenants | took | attacks held, not tested | requests in a second |\n|---|---|---|---|---|\n", len(suite.Attacks))
	var first time.Duration
	for _, n := range []int{1, len(scenes)} {
		took, err := attackAll(ctx, b, suite, kinds, scenes[:n])
		if err != nil {
			return err
		}
		if n == 1 {
			first = took
			continue
		}
		fmt.Printf("| time for each of %d, against one alone | | %.2f | | |\n", n, took.Seconds()/float64(n)/first.Seconds())
	}
	return nil
}

func attackAll(ctx context.Context, b *bench, suite *attack.Suite, kinds attack.Kinds, scenes []attack.Scene) (time.Duration, error) {
	runner, err := attack.NewRunner(b.config, attack.Options{})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	results, err := runner.Run(ctx, suite, kinds, scenes...)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	counts, requests := map[attack.Outcome]int{}, 0
	for _, r := range results {
		counts[r.Outcome]++
		requests += len(r.Paths)
	}
	if counts[attack.Through] > 0 {
		return 0, fmt.Errorf("%d attacks got through", counts[attack.Through])
	}
	fmt.Printf("| | %d | %.1f s | %d, %d | %.0f |\n", len(scenes), took.Seconds(), counts[attack.Held], counts[attack.NotTested], float64(requests)/took.Seconds())
	return took, nil
}
