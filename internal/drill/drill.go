// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/expect"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/trial"
)

// Watcher is told how a cluster's run goes.
type Watcher interface {
	local.Progress
	// Show is given every picture of the cluster, and Note what went wrong in taking one.
	Show(local.Picture)
	Note(string)
	// Done takes what was shown away.
	Done()
	// Count is told how much of something there is to do, and Add that one more is done.
	Count(total int, what string)
	Add(what string)
}

// Options of a run.
type Options struct {
	// Suite of attacks; nil attacks nobody.
	Suite *attack.Suite
	// EveryAttack plays all of them on every tenant, also on those that are alike.
	EveryAttack bool
	// Expectations of the fleet's own.
	Expectations []expect.Expectation
	// Installed are the objects that Tenantry installs on a cluster.
	Installed func(*rest.Config) ([]*unstructured.Unstructured, error)
	// Timeout is how long a cluster may take to come to rest.
	Timeout time.Duration
}

// Cluster is one that is to be run.
type Cluster struct {
	// Name in the fleet, and the minor of Kubernetes to run.
	Name, Kubernetes string
	Local            local.Options
	Watcher          Watcher
	// Places are found anew for every round: files change.
	Places func() (Places, error)
}

// Run is a cluster that runs.
type Run struct {
	opts    Options
	cluster Cluster
	live    *local.Cluster
	steps   *steps
	// seen is how things were when they were last attacked.
	seen memory
	// edited says that what is tested is the outcome of an edit.
	edited bool
	// changed are URLs whose content changed since the last round that came to its end;
	// before are the expectations of that round, and asked what was seen of them.
	changed []string
	before  []expect.Expectation
	asked   []trial.Expectation
}

// Each does something with clusters, so many at once; it is told the place of each.
func Each(ctx context.Context, clusters []Cluster, parallel int, do func(ctx context.Context, place int, c Cluster)) {
	slots := make(chan struct{}, max(1, parallel))
	var all sync.WaitGroup
	for place, c := range clusters {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() == nil {
				do(ctx, place, c)
			}
		})
	}
	all.Wait()
}

// Start has a cluster run. After an error nothing is left running, and the result says
// why.
func Start(ctx context.Context, c Cluster, o Options) (*Run, trial.Cluster) {
	r := &Run{opts: o, cluster: c, steps: &steps{Progress: c.Watcher, start: time.Now()}}
	c.Local.Progress = r.steps
	live, err := local.Start(ctx, c.Local)
	if err != nil {
		return nil, r.failed(err)
	}
	r.live = live
	return r, trial.Cluster{}
}

// Stop ends a cluster.
func (r *Run) Stop() error { return r.live.Stop() }

// Live is the cluster itself.
func (r *Run) Live() *local.Cluster { return r.live }

func (r *Run) failed(err error) trial.Cluster {
	return trial.Cluster{Name: r.cluster.Name, Kubernetes: r.cluster.Kubernetes, Error: err.Error(), Steps: r.steps.list(), Seconds: time.Since(r.steps.start).Seconds()}
}

// Test brings the cluster to rest, attacks it, asks it and tells of it. When it is called
// again it does again what may have changed.
func (r *Run) Test(ctx context.Context) trial.Cluster {
	out, err := r.test(ctx)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		return r.failed(err)
	}
	return out
}

func (r *Run) test(ctx context.Context) (trial.Cluster, error) {
	out := trial.Cluster{Name: r.cluster.Name, Kubernetes: r.cluster.Kubernetes}
	cfg, err := r.live.Admin()
	if err != nil {
		return out, err
	}
	end, err := r.converge(ctx, cfg)
	if err != nil {
		return out, err
	}
	out.Late = end.Late
	places, err := r.cluster.Places()
	if err != nil {
		r.cluster.Watcher.Note("where things are written is not told: " + err.Error())
	}
	out.Items = items(end, places)
	if err := r.attack(ctx, cfg, &out); err != nil {
		return out, err
	}
	asides, err := r.live.Asides(ctx)
	if err != nil {
		return out, err
	}
	if err := r.ask(ctx, cfg, &out); err != nil {
		return out, err
	}
	for _, a := range asides {
		out.Asides = append(out.Asides, trial.Aside(a))
	}
	out.Unmapped = r.live.Misses()
	select {
	case err := <-r.live.Dead():
		return out, err // what it left looks as good as ever
	default:
	}
	r.changed = nil
	out.Steps, out.Seconds = r.steps.list(), time.Since(r.steps.start).Seconds()
	return out, nil
}

// steps notes when the parts of a run began and ended.
type steps struct {
	local.Progress
	mu    sync.Mutex
	start time.Time
	all   []trial.Step
}

// Begin implements local.Progress.
func (s *steps) Begin(what string) func(error) {
	from, end := time.Since(s.start), s.Progress.Begin(what)
	return func(err error) {
		s.mu.Lock()
		s.all = append(s.all, trial.Step{Name: what, From: from.Seconds(), To: time.Since(s.start).Seconds()})
		s.mu.Unlock()
		end(err)
	}
}

// note is a part that has shown itself.
func (s *steps) note(what string, from time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, trial.Step{Name: what, From: from.Sub(s.start).Seconds(), To: time.Since(s.start).Seconds()})
}

func (s *steps) list() []trial.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// anew begins the time and the steps of another round.
func (s *steps) anew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.all = time.Now(), nil
}
