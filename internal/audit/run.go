// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/kube"
)

// Options of an audit.
type Options struct {
	Suite *attack.Suite
	// Tenants to attack. Default: all.
	Tenants []string
	// Parallel is how many attacks run at once.
	Parallel int
	// Installed are the objects that Tenantry installs.
	Installed []*unstructured.Unstructured
	// AttacksOnly leaves out what reading the cluster finds.
	AttacksOnly bool
	// Begin is told how many attacks there are, and Progress of each that is over.
	Begin    func(total int)
	Progress func(attack.Result)
}

// Outcome is what an audit found.
type Outcome struct {
	// Tenants that were attacked, in order.
	Tenants []string
	Results []attack.Result
	// Findings are attacks that got through, and what reading the cluster found.
	Findings []Finding
	// Skipped are checks that could not be made, with the reason.
	Skipped map[string]string
	// Lacking are rights that the identity of the configuration does not have.
	Lacking []string
	// Took is how long the attacks took.
	Took time.Duration
}

// Run attacks a cluster's tenants and reads the cluster.
func Run(ctx context.Context, cfg *rest.Config, o Options) (*Outcome, error) {
	runner, err := attack.NewRunner(cfg, attack.Options{Parallel: o.Parallel, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	cfg = kube.Unthrottled(cfg)
	c, err := kube.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("talk to %s: %w", cfg.Host, err)
	}
	out := &Outcome{}
	scenes, err := out.scenes(ctx, c, o.Tenants)
	if err != nil {
		return nil, err
	}
	kinds, err := attack.ReadKinds(cfg)
	if err != nil {
		return nil, err
	}
	if out.Lacking, err = runner.Lacking(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	o.Begin(len(scenes) * len(o.Suite.Attacks))
	if out.Results, err = runner.Run(ctx, o.Suite, kinds, scenes...); err != nil {
		return nil, err
	}
	out.Took = time.Since(start)
	through := slices.ContainsFunc(out.Results, func(r attack.Result) bool { return r.Outcome == attack.Through })
	if o.AttacksOnly && !through {
		return out, nil // there is nothing to explain
	}
	facts, err := Gather(ctx, c, o.Installed)
	if err != nil {
		return nil, err
	}
	out.judge(facts, o.AttacksOnly)
	return out, nil
}

// Look reads a cluster without attacking anybody: what weakens its walls, and the checks
// that could not be made.
func Look(ctx context.Context, cfg *rest.Config, installed []*unstructured.Unstructured) ([]Finding, map[string]string, error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return nil, nil, err
	}
	facts, err := Gather(ctx, c, installed)
	if err != nil {
		return nil, nil, err
	}
	found, skipped := Read(facts)
	return found, skipped, nil
}

// scenes are those of the tenants named, or of all.
func (out *Outcome) scenes(ctx context.Context, c client.Client, names []string) ([]attack.Scene, error) {
	cast, err := attack.ReadCast(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("read the cluster's tenants: %w", err)
	}
	if len(names) == 0 {
		for _, t := range cast.Tenants {
			names = append(names, t.Name)
		}
	}
	var all []attack.Scene
	for _, n := range names {
		sc, err := cast.Scene(n)
		if err != nil {
			return nil, err
		}
		out.Tenants = append(out.Tenants, sc.Tenant)
		all = append(all, sc)
	}
	return all, nil
}

// judge says of what got through whether it was meant, and what let it through.
func (out *Outcome) judge(facts *Facts, attacksOnly bool) {
	read, skipped := Read(facts)
	for i := range out.Results {
		r := &out.Results[i]
		if r.Outcome != attack.Through {
			continue
		}
		if why := Meant(facts, *r); why != "" {
			r.Outcome, r.Reason = attack.Excepted, why
		} else {
			out.Findings = append(out.Findings, Blame(facts, read, *r))
		}
	}
	if !attacksOnly {
		out.Findings, out.Skipped = append(out.Findings, read...), skipped
	}
}
