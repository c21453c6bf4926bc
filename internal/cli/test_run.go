// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/drill"
	"github.com/tenantry/tenantry/internal/expect"
	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/schema"
	"github.com/tenantry/tenantry/internal/trial"
	"github.com/tenantry/tenantry/internal/words"
	"github.com/tenantry/tenantry/internal/world"
)

// inventedRoot is where a fleet is served that says nowhere what its own repository is.
const inventedRoot = "https://git.example.com/fleet"

// testRun is one call of test.
type testRun struct {
	testOptions
	s     Streams
	dir   string
	fleet *fleet.Fleet
	opts  drill.Options
	start time.Time

	mu   sync.Mutex
	runs []*drill.Run
	// results by the place of their cluster among all.
	results []trial.Cluster
}

// run tests a fleet. A keeper stays with the clusters; without one nothing does.
func (o *testOptions) run(ctx context.Context, s Streams, dir string, stays *keeper) (err error) {
	if _, err := exec.LookPath("git"); err != nil {
		return world.ErrNoGit
	}
	t := &testRun{testOptions: *o, s: s, dir: dir, start: time.Now()}
	if t.fleet, err = openFleet(dir); err != nil {
		return err
	}
	if err := local.Sweep(); err != nil {
		return fmt.Errorf("clear up after an earlier run: %w", err)
	}
	if o.record != "" {
		if err := world.CleanTape(o.record); err != nil {
			return fmt.Errorf("--record %s: %w", o.record, err)
		}
	}
	if t.opts, err = t.options(); err != nil {
		return err
	}
	clusters, err := t.clustersToRun(ctx)
	if err != nil {
		return err
	}
	t.results = make([]trial.Cluster, len(clusters))
	defer func() { err = errors.Join(err, t.stop()) }()
	if o.watch {
		t.parallel = len(clusters)
	}
	drill.Each(ctx, clusters, t.parallel, t.test)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o.watch {
		return t.watching(ctx)
	}
	passed, err := t.tell()
	switch {
	case err != nil:
		return err
	case stays != nil && len(t.runs) > 0:
		t.note("%s: one process holds what runs on. `tenantry down --name %s` ends it all.", words.Count(len(t.runs), "cluster"), t.runs[0].Live().State().Name)
		if err := stays.leave(passed); err != nil {
			return err
		}
		return t.stay(ctx)
	case !passed:
		return errQuiet
	}
	return nil
}

// options are what all clusters have in common.
func (t *testRun) options() (drill.Options, error) {
	o := drill.Options{Timeout: t.timeout, Installed: installedObjects, EveryAttack: t.attacks == "all"}
	var err error
	if t.attacks != "none" {
		if o.Suite, err = attack.Load(); err != nil {
			return o, err
		}
	}
	o.Expectations, err = t.expectations()
	return o, err
}

// expectations are the fleet's own, as they are now.
func (t *testRun) expectations() ([]expect.Expectation, error) {
	all, err := expect.Load(t.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		for _, c := range e.Clusters {
			if !slices.Contains(t.fleet.ClusterNames(), c) {
				return nil, fmt.Errorf("%s:%d: cluster %s: there is no directory clusters/%s", e.File, e.Line, c, c)
			}
		}
	}
	return all, nil
}

func installedObjects(cfg *rest.Config) ([]*unstructured.Unstructured, error) {
	installer, err := install.New(cfg)
	if err != nil {
		return nil, err
	}
	set, err := installer.Set()
	if err != nil {
		return nil, err
	}
	return set.All(), nil
}

// clustersToRun are the fleet's, each on each minor.
func (t *testRun) clustersToRun(ctx context.Context) ([]drill.Cluster, error) {
	names := t.clusters
	if len(names) == 0 {
		names = t.fleet.ClusterNames()
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no clusters: a fleet has a directory for each in clusters/", t.dir)
	}
	keys, err := t.decryptionKeys()
	if err != nil {
		return nil, err
	}
	minors := t.kubernetes
	if len(minors) == 0 {
		minors = []string{""}
	}
	var all []drill.Cluster
	for _, minor := range minors {
		helpers, err := local.FindHelpers(ctx, olderOnly(minor), newProgress(t.s.Err))
		if err != nil {
			return nil, err
		}
		if minor == "" {
			minor = schema.Newest
			if set := os.Getenv(local.KubernetesEnv); set != "" {
				minor = set
			}
		}
		for _, name := range names {
			if name, err = t.fleet.Cluster(name); err != nil {
				return nil, err
			}
			c, err := t.cluster(name, minor, helpers, len(all))
			if err != nil {
				return nil, err
			}
			c.Local.Keys = keys
			all = append(all, c)
		}
	}
	for i := range all {
		all[i].Watcher = newStage(t.s, t.prefix(all[i], len(all)))
	}
	return all, nil
}

// olderOnly names a minor for FindHelpers, which knows the newest by no name.
func olderOnly(minor string) string {
	if minor == schema.Newest {
		return ""
	}
	return minor
}

func (t *testRun) prefix(c drill.Cluster, n int) string {
	switch {
	case n == 1 || t.parallel == 1 && !t.watch:
		return ""
	case len(t.kubernetes) > 1:
		return c.Name + " " + c.Kubernetes + ": "
	default:
		return c.Name + ": "
	}
}

func (t *testRun) cluster(name, minor string, helpers local.Helpers, n int) (drill.Cluster, error) {
	mappings, err := mappingsOf(t.fleet, t.maps)
	if err != nil {
		return drill.Cluster{}, err
	}
	c := drill.Cluster{Name: name, Kubernetes: minor}
	rendered, err := t.render(name, minor)
	if err != nil {
		return c, err
	}
	as := local.PassingName(n)
	if t.keep {
		as = keptName(name, minor, len(t.kubernetes) > 1)
	}
	if c.Local, err = localOptions(as, t.fleet, name, helpers); err != nil {
		return c, err
	}
	c.Local.FluxArgs = drill.FluxArgs(rendered)
	root := drill.RootURL(rendered)
	if _, err := os.Stat(c.Local.Bootstrap); err != nil {
		c.Local.Bootstrap, c.Local.Root, root = "", inventedRoot, inventedRoot
		c.Local.FluxArgs = map[string][]string{"kustomize-controller": {}, "helm-controller": {}, "notification-controller": {}}
	}
	if root != "" && !slices.ContainsFunc(mappings, func(m world.Mapping) bool { return world.SamePlace(m.URL, root) }) {
		mappings = append(mappings, world.Mapping{URL: root, Dir: t.fleet.Dir})
	}
	c.Local.World = world.Options{Mappings: mappings, Network: t.network, Record: t.record, Replay: t.recorded}
	c.Places = func() (drill.Places, error) {
		rendered, err := t.render(name, minor)
		return drill.NewPlaces(rendered), err
	}
	return c, nil
}

// render is a cluster as it is without being run.
func (t *testRun) render(name, minor string) (*render.Cluster, error) {
	source := sourceFlags{kubernetes: minor, mapped: t.maps}
	at, err := source.at(t.dir)
	if err != nil {
		return nil, err
	}
	f, err := render.Open(t.dir, render.Options{Kubernetes: minor, At: at, Now: time.Now(), Whole: true})
	if err != nil {
		return nil, err
	}
	return f.Cluster(name), nil
}

// keptName is the name of a local cluster that stays.
func keptName(cluster, minor string, several bool) string {
	const most = 32
	suffix := ""
	if several {
		suffix = "-" + strings.ReplaceAll(minor, ".", "-")
	}
	name := "test-" + cluster
	return strings.Trim(name[:min(len(name), most-len(suffix))], "-") + suffix
}

// test runs one cluster and, unless it is wanted afterwards, stops it.
func (t *testRun) test(ctx context.Context, place int, c drill.Cluster) {
	r, result := drill.Start(ctx, c, t.opts)
	if r != nil {
		result = r.Test(ctx)
		if result.Error == "" && (t.keep || t.watch) {
			if t.keep {
				result.Kubeconfigs = r.Live().State().Kubeconfigs
			}
			t.mu.Lock()
			t.runs = append(t.runs, r)
			t.mu.Unlock()
		} else if err := r.Stop(); err != nil && result.Error == "" {
			result.Error = err.Error()
		}
	}
	t.mu.Lock()
	t.results[place] = result
	t.mu.Unlock()
}

// stop ends what still runs.
func (t *testRun) stop() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, r := range t.runs {
		errs = append(errs, r.Stop())
	}
	t.runs = nil
	return errors.Join(errs...)
}

// tell prints and writes the reports.
func (t *testRun) tell() (passed bool, err error) {
	t.mu.Lock()
	run := &trial.Run{Fleet: t.dir, Version: version, Seconds: time.Since(t.start).Seconds(), Clusters: slices.Clone(t.results)}
	t.mu.Unlock()
	run.Judge()
	if err := writerFor(t.output)(t.s.Out, run); err != nil {
		return false, err
	}
	for _, file := range t.reports {
		content := &strings.Builder{}
		if err := writers[filepath.Ext(file)](content, run); err != nil {
			return false, err
		}
		if err := writeAtomic(file, []byte(content.String())); err != nil {
			return false, fmt.Errorf("--report %s: %w", file, err)
		}
		t.note("wrote %s", file)
	}
	return run.Passed, nil
}

func (t *testRun) note(format string, args ...any) {
	_, _ = fmt.Fprintf(t.s.Err, format+"\n", args...) // nobody to tell
}

// watching tests a cluster again whenever something of what it is served changed.
func (t *testRun) watching(ctx context.Context) error {
	if _, err := t.tell(); err != nil {
		return err
	}
	t.mu.Lock()
	runs := slices.Clone(t.runs)
	t.mu.Unlock()
	if len(runs) == 0 {
		return errors.New("no cluster runs that could be watched: the reasons are above")
	}
	t.note("Waiting for changes; Ctrl-C ends it.")
	again, errs := make(chan struct{}, len(runs)), make(chan error, len(runs))
	for _, r := range runs {
		go func() {
			for {
				if err := r.AwaitChange(ctx); err != nil {
					errs <- err
					return
				}
				t.round(ctx, r)
				again <- struct{}{}
			}
		}()
	}
	for {
		select {
		case <-ctx.Done():
			return nil // Ctrl-C is how this is meant to end
		case err := <-errs:
			if errors.Is(err, context.Canceled) {
				err = nil
			}
			return err
		case <-again:
			if _, err := t.tell(); err != nil {
				return err
			}
			t.note("Waiting for changes; Ctrl-C ends it.")
		}
	}
}

// round tests one cluster once more, against expectations as they are now.
func (t *testRun) round(ctx context.Context, r *drill.Run) {
	if now, err := t.expectations(); err != nil {
		t.note("tenantry: %v", err) // what is half-written now may be whole in a moment
	} else {
		r.Expect(now)
	}
	result := r.Test(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.results, func(c trial.Cluster) bool { return c.Name == result.Name })
	t.results[i] = result
	t.start = time.Now().Add(-time.Duration(result.Seconds * float64(time.Second)))
}
