// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tenantry/tenantry/internal/admit"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/tree"
)

// linter is one run.
type linter struct {
	fleet    *render.Fleet
	policies *admit.Policies
	clusters []*render.Cluster
	loose    []*build.Object // what no cluster gets

	report *Report
	lint   collected
	once   sync.Once
	// told are kustomizations with a problem, and guessed objects of which too little is
	// known to say more.
	told    map[string]bool
	mu      sync.Mutex
	broken  map[uintptr]bool
	guessed map[*build.Object]bool
	known   map[string]bool
}

// Run checks the repository in dir: a fleet, or any other.
func Run(dir string, opts render.Options) (*Report, error) {
	l, err := newLinter(dir, opts)
	if err != nil {
		return nil, err
	}
	l.render()
	for _, f := range l.lint.all {
		l.told[f.File] = true
	}
	l.files()
	for _, c := range l.clusters {
		for _, s := range c.Syncs {
			l.unset(c, s)
		}
	}
	l.objects()
	l.secrets()
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range l.clusters {
		g.Go(func() error {
			return l.cluster(c)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	l.report.Findings = l.lint.all
	l.report.sort()
	l.allow()
	l.report.sort()
	return l.report, nil
}

func newLinter(dir string, opts render.Options) (*linter, error) {
	fleet, err := render.Open(dir, opts)
	if err != nil {
		return nil, err
	}
	policies, err := admit.Installed()
	if err != nil {
		return nil, err
	}
	l := &linter{fleet: fleet, policies: policies, report: &Report{}, told: map[string]bool{}, broken: map[uintptr]bool{}, guessed: map[*build.Object]bool{}}
	for _, b := range fleet.Repositories() {
		l.report.trees = append(l.report.trees, b.Tree())
	}
	return l, nil
}

// render renders every cluster, and what no cluster gets.
func (l *linter) render() {
	l.clusters = l.fleet.Clusters(l.fleet.Names()...)
	l.report.Clusters = len(l.clusters)
	tenants, away := map[string]bool{}, map[string]bool{}
	for _, c := range l.clusters {
		for _, t := range c.Tenants {
			tenants[t.Tenant.Name] = true
			if t.Plan == nil && len(t.Tenant.Spec.Syncs) > 0 {
				away[t.Tenant.Name] = true
			}
		}
		for _, p := range c.Problems {
			l.problem(p, c.Name)
		}
		for _, a := range c.Absent {
			l.report.Unchecked = append(l.report.Unchecked, Unchecked{
				What: fmt.Sprintf("what %s %s syncs", a.Kind, a.URL), Why: "no directory stands in for it: name one in tenantry.yaml, or with --map",
			})
		}
		for _, r := range c.Releases {
			if r.Why != "" {
				l.report.Unchecked = append(l.report.Unchecked, Unchecked{What: fmt.Sprintf("what HelmRelease %s/%s installs", r.Object.Namespace, r.Object.Name), Why: r.Why})
			}
		}
		for _, o := range c.Objects {
			if o.Tenant() == nil && o.Kind == "CustomResourceDefinition" {
				l.fleet.Define(o.Fields)
			}
		}
	}
	l.report.Tenants = len(tenants)
	if names := sortedKeys(away); len(names) > 0 {
		const most = 3
		if len(names) > most {
			names = append(names[:most:most], fmt.Sprintf("and %d more", len(away)-most))
		}
		l.report.Unchecked = append(l.report.Unchecked, Unchecked{
			What: "what the repositories of tenants hold: " + strings.Join(names, ", "), Why: "no directory stands in for them: name one in tenantry.yaml, or with --map",
		})
	}
	for _, b := range l.fleet.Repositories() {
		l.unbuilt(b)
	}
}

// unbuilt builds the kustomizations that no cluster applies: what others build on comes
// with them.
func (l *linter) unbuilt(b *build.Builder) {
	included := map[string]bool{}
	var dirs []string
	for _, name := range b.Tree().Manifests() {
		if path.Base(name) != "kustomization.yaml" && path.Base(name) != "kustomization.yml" {
			continue
		}
		documents, err := b.Tree().Documents(name)
		if err != nil || len(documents) == 0 {
			dirs = append(dirs, path.Dir(name))
			continue
		}
		k := documents[0]
		if tree.Text(k, "kind") == "Component" {
			continue // it does something only to others
		}
		dirs = append(dirs, path.Dir(name))
		for _, list := range []string{"resources", "bases"} {
			for _, n := range tree.Items(k, list) {
				included[path.Join(path.Dir(name), n.Value)] = true
			}
		}
	}
	seen := map[*build.Object]bool{}
	take := func(dir string) {
		r := b.Build(dir)
		for _, p := range r.Problems {
			l.problem(p, "")
		}
		for _, o := range r.Objects {
			if _, problem := o.Fields(); problem != nil {
				l.problem(*problem, "")
			} else if !o.Stub && !seen[o] {
				seen[o] = true
				l.loose = append(l.loose, o)
			}
		}
	}
	for _, wanted := range []bool{false, true} { // those that others build on last: most were built by then
		for _, dir := range dirs {
			if file := b.Tree().KustomizationIn(dir); included[dir] == wanted && !b.Used(file) {
				take(dir)
			}
		}
	}
}
