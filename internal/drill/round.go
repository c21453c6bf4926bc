// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/audit"
	"github.com/tenantry/tenantry/internal/expect"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/trial"
	"github.com/tenantry/tenantry/internal/words"
)

func (r *Run) converge(ctx context.Context, cfg *rest.Config) (*local.Convergence, error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	end, err := local.Converge(ctx, c, local.Watching{
		Cluster: r.cluster.Name, Timeout: r.opts.Timeout, Edited: r.edited, Dead: r.live.Dead(), Behind: r.live.Behind,
		Show: r.cluster.Watcher.Show, Note: r.cluster.Watcher.Note,
	})
	r.cluster.Watcher.Done()
	if err != nil {
		return nil, err
	}
	r.steps.note("apply the fleet", start)
	// Spans are counted from the beginning of the round.
	since := start.Sub(r.steps.start)
	for k, s := range end.Spans {
		end.Spans[k] = local.Span{From: s.From + since, To: s.To + since}
	}
	return end, nil
}

func items(end *local.Convergence, places Places) []trial.Item {
	all := make([]trial.Item, 0, len(end.Picture))
	for _, row := range end.Picture {
		if row.Kind == "Cluster" {
			continue // it sums up the others
		}
		place, span := places.Of(row), end.Spans[row.Key()]
		all = append(all, trial.Item{
			Tenant: row.Tenant, Kind: row.Kind, Namespace: row.Namespace, Name: row.Name, Health: string(row.Health),
			Revision: row.Revision, Message: row.Message, From: span.From.Seconds(), To: span.To.Seconds(),
			File: place.File, Line: place.Line,
		})
	}
	return all
}

// attack plays the suite on all tenants, or, in a later round, on those that changed.
func (r *Run) attack(ctx context.Context, cfg *rest.Config, out *trial.Cluster) error {
	if r.opts.Suite == nil {
		return nil
	}
	now, err := look(ctx, cfg)
	if err != nil {
		return err
	}
	installed, err := r.opts.Installed(cfg)
	if err != nil {
		return err
	}
	if changed := r.seen.changed(now); len(changed) > 0 {
		start, n := time.Now(), 0
		for _, names := range changed {
			n += len(names)
		}
		if err := r.play(ctx, cfg, installed, changed); err != nil {
			return fmt.Errorf("attack: %w", err)
		}
		r.steps.note("attack "+words.Count(n, "tenant"), start)
	}
	r.seen.walls, r.seen.tenants = now.walls, now.tenants
	read, skipped, err := audit.Look(ctx, cfg, installed)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	r.seen.read = nil
	for _, f := range read {
		r.seen.read = append(r.seen.read, findingOf(f))
	}
	out.Attacks, out.Findings = r.seen.attacks(), r.seen.findings()
	for _, id := range slices.Sorted(maps.Keys(skipped)) {
		out.Asides = append(out.Asides, trial.Aside{What: "check", Object: id, Why: "it was not made: " + skipped[id]})
	}
	return nil
}

// play attacks tenants, given by their shapes: one of each shape with all there is, the
// others with what its walls held, and those with all there is of whom that shows anything
// else.
func (r *Run) play(ctx context.Context, cfg *rest.Config, installed []*unstructured.Unstructured, shapes map[string][]string) error {
	w := r.cluster.Watcher
	defer w.Done()
	o := audit.Options{
		Parallel: parallelAttacks, Installed: installed, AttacksOnly: true,
		Begin:    func(total int) { w.Count(total, "attack") },
		Progress: func(a attack.Result) { w.Add("tenant " + a.Tenant) },
	}
	attackAll := func(tenants []string, suite *attack.Suite, alike string) (*audit.Outcome, error) {
		if len(tenants) == 0 {
			return &audit.Outcome{}, nil
		}
		o.Tenants, o.Suite = slices.Sorted(slices.Values(tenants)), suite
		found, err := audit.Run(ctx, cfg, o)
		if err == nil {
			r.seen.take(found, alike)
		}
		return found, err
	}
	var whole []string
	for shape, names := range shapes {
		if _, known := r.seen.models[shape]; r.opts.EveryAttack {
			whole = append(whole, names...)
		} else if !known {
			whole = append(whole, names[0])
		}
	}
	found, err := attackAll(whole, r.opts.Suite, "")
	if err != nil || r.opts.EveryAttack {
		return err
	}
	whole = nil
	for shape, names := range shapes {
		m, known := r.seen.models[shape]
		if !known {
			m = newModel(names[0], found.Results)
			r.seen.models[shape] = m
		}
		others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == m.tenant })
		if len(m.picks) == 0 {
			whole = append(whole, others...)
			continue
		}
		picks, err := r.opts.Suite.Select(m.picks...)
		if err != nil {
			return err
		}
		sampled, err := attackAll(others, picks, m.tenant)
		if err != nil {
			return err
		}
		for _, result := range sampled.Results {
			if result.Outcome != attack.Held && !slices.Contains(whole, result.Tenant) {
				whole = append(whole, result.Tenant)
			}
		}
	}
	_, err = attackAll(whole, r.opts.Suite, "")
	return err
}

// parallelAttacks keeps the API server of a laptop busy.
const parallelAttacks = 8

// ask asks what the fleet's people expect.
func (r *Run) ask(ctx context.Context, cfg *rest.Config, out *trial.Cluster) error {
	var mine []expect.Expectation
	for _, e := range r.opts.Expectations {
		if len(e.Clusters) == 0 || slices.Contains(e.Clusters, r.cluster.Name) {
			mine = append(mine, e)
		}
	}
	if len(mine) == 0 {
		return nil
	}
	start, w := time.Now(), r.cluster.Watcher
	runner, err := expect.NewRunner(ctx, cfg, r.live)
	if err != nil {
		return err
	}
	w.Count(len(mine), "expectation")
	for _, e := range mine {
		began := time.Now()
		if before, ok := r.stands(e, runner); ok {
			out.Expectations = append(out.Expectations, before)
			w.Add(e.Name)
			continue
		}
		result := runner.Run(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.Expectations = append(out.Expectations, trial.Expectation{
			Name: e.Name, File: e.File, Line: e.Line, Passed: result.Passed, Expected: result.Expected, Seen: result.Seen,
			Seconds: time.Since(began).Seconds(),
		})
		w.Add(e.Name)
	}
	r.asked, r.before = out.Expectations, mine
	w.Done()
	r.steps.note("ask "+words.Count(len(mine), "expectation"), start)
	return nil
}

// stands gives what was seen of a commit before, where all that changed since are the
// repositories of other tenants: a commit takes longer than everything else.
func (r *Run) stands(e expect.Expectation, runner *expect.Runner) (trial.Expectation, bool) {
	if e.Commit == nil || !slices.ContainsFunc(r.before, func(o expect.Expectation) bool { return reflect.DeepEqual(o, e) }) {
		return trial.Expectation{}, false
	}
	for _, url := range r.changed {
		if of := runner.TenantOf(url); of == "" || of == e.Commit.Tenant {
			return trial.Expectation{}, false
		}
	}
	i := slices.IndexFunc(r.asked, func(t trial.Expectation) bool { return t.Name == e.Name && t.File == e.File && t.Line == e.Line })
	if i < 0 {
		return trial.Expectation{}, false
	}
	return r.asked[i], true
}

// AwaitChange waits until something of what the cluster is served changed.
func (r *Run) AwaitChange(ctx context.Context) error {
	changed, err := r.live.AwaitChange(ctx)
	if err != nil {
		return err
	}
	r.steps.anew()
	r.edited, r.changed = true, append(r.changed, changed...)
	return nil
}

// Expect has later tests ask something else.
func (r *Run) Expect(e []expect.Expectation) { r.opts.Expectations = e }
