// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/audit"
	"github.com/tenantry/tenantry/internal/expect"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/trial"
)

func (r *Run) converge(ctx context.Context, cfg *rest.Config) (*local.Convergence, error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	end, err := local.Converge(ctx, c, local.Watching{
		Cluster: r.cluster.Name, Timeout: r.opts.Timeout, Quiet: r.quiet, Dead: r.live.Dead(), Behind: r.live.Behind,
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
	changed, err := r.seen.changed(ctx, cfg)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		start, n := time.Now(), 0
		for _, names := range changed {
			n += len(names)
		}
		if err := r.play(ctx, cfg, changed); err != nil {
			return fmt.Errorf("attack: %w", err)
		}
		r.steps.note("attack "+counted(n, "tenant"), start)
	}
	out.Attacks, out.Findings = r.seen.attacks(), r.seen.findings
	for _, id := range sorted(r.seen.skipped) {
		out.Asides = append(out.Asides, trial.Aside{What: "check", Object: id, Why: "it was not made: " + r.seen.skipped[id]})
	}
	return nil
}

// play attacks tenants, given by their shapes: one of each shape with all there is.
func (r *Run) play(ctx context.Context, cfg *rest.Config, shapes map[string][]string) error {
	installed, err := r.opts.Installed(cfg)
	if err != nil {
		return err
	}
	w := r.cluster.Watcher
	defer w.Done()
	o := audit.Options{
		Suite: r.opts.Suite, Parallel: parallelAttacks, Installed: installed,
		Begin:    func(total int) { w.Count(total, "attack") },
		Progress: func(a attack.Result) { w.Add("tenant " + a.Tenant) },
	}
	for shape, names := range shapes {
		if _, known := r.seen.models[shape]; r.opts.EveryAttack {
			o.Tenants = append(o.Tenants, names...)
		} else if !known {
			o.Tenants = append(o.Tenants, names[0])
		}
	}
	slices.Sort(o.Tenants)
	if len(o.Tenants) > 0 {
		found, err := audit.Run(ctx, cfg, o)
		if err != nil {
			return err
		}
		r.seen.take(found, "")
		for shape, names := range shapes {
			if _, known := r.seen.models[shape]; !known {
				r.seen.models[shape] = newModel(names[0], found.Results)
			}
		}
	}
	if r.opts.EveryAttack {
		return nil
	}
	for shape, names := range shapes {
		m := r.seen.models[shape]
		o.Tenants = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == m.tenant })
		if len(o.Tenants) == 0 || len(m.picks) == 0 {
			continue
		}
		if o.Suite, err = r.opts.Suite.Select(m.picks...); err != nil {
			return err
		}
		o.AttacksOnly = true
		found, err := audit.Run(ctx, cfg, o)
		if err != nil {
			return err
		}
		r.seen.take(found, m.tenant)
	}
	return nil
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
	r.asked = out.Expectations
	w.Done()
	r.steps.note("ask "+counted(len(mine), "expectation"), start)
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// stands gives what was seen of a commit before, where neither it nor what it is made to
// changed since: it takes longer than everything else.
func (r *Run) stands(e expect.Expectation, runner *expect.Runner) (trial.Expectation, bool) {
	if e.Commit == nil || r.changed == nil {
		return trial.Expectation{}, false
	}
	if url, why := runner.Repository(e.Commit); why != "" || slices.Contains(r.changed, url) {
		return trial.Expectation{}, false
	}
	i := slices.IndexFunc(r.asked, func(t trial.Expectation) bool { return t.Name == e.Name && t.File == e.File && t.Line == e.Line })
	if i < 0 || !reflect.DeepEqual(e, r.was(e)) {
		return trial.Expectation{}, false
	}
	return r.asked[i], true
}

// was is an expectation as it was asked last.
func (r *Run) was(e expect.Expectation) expect.Expectation {
	for _, o := range r.before {
		if o.Name == e.Name {
			return o
		}
	}
	return expect.Expectation{}
}

// AwaitChange waits until something of what the cluster is served changed.
func (r *Run) AwaitChange(ctx context.Context) error {
	changed, err := r.live.AwaitChange(ctx)
	if err != nil {
		return err
	}
	r.steps.anew()
	r.quiet, r.changed = local.Hasty, changed
	return nil
}

// Expect has later tests ask something else.
func (r *Run) Expect(e []expect.Expectation) { r.before, r.opts.Expectations = r.opts.Expectations, e }
