// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenantry/tenantry/internal/admit"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/schema"
	"github.com/tenantry/tenantry/internal/tree"
)

// Options say what to check against.
type Options struct {
	// Kubernetes is the minor, as 1.36. Default: the newest that is known.
	Kubernetes string
	// At are the directories that stand in for URLs of sources.
	At map[string]string
	// Now decides which exceptions have ended.
	Now time.Time
}

// linter is one run.
type linter struct {
	tree     *tree.Tree
	root     *build.Builder
	at       map[string]*build.Builder // by directory
	fleet    *render.Fleet
	kinds    *schema.Set
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
func Run(dir string, opts Options) (*Report, error) {
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

func newLinter(dir string, opts Options) (*linter, error) {
	if opts.Kubernetes == "" {
		opts.Kubernetes = schema.Newest
	}
	kinds, err := schema.For(opts.Kubernetes)
	if err != nil {
		return nil, err
	}
	policies, err := admit.NewPolicies()
	if err != nil {
		return nil, err
	}
	l := &linter{tree: tree.New(dir), kinds: kinds, policies: policies, report: &Report{}, at: map[string]*build.Builder{}, told: map[string]bool{}, broken: map[uintptr]bool{}, guessed: map[*build.Object]bool{}}
	l.root = build.New(l.tree)
	l.report.trees = []*tree.Tree{l.tree}
	l.fleet = &render.Fleet{Root: l.root, At: map[string]*build.Builder{}, Kinds: kinds, Now: opts.Now}
	for url, at := range opts.At {
		l.fleet.At[render.Normal(url)] = l.builder(at)
	}
	return l, nil
}

// builder is the one of a directory; several URLs may lead to one.
func (l *linter) builder(dir string) *build.Builder {
	dir = filepath.Clean(dir)
	if dir == filepath.Clean(l.tree.Dir) {
		return l.root
	}
	b := l.at[dir]
	if b == nil {
		t := tree.New(dir)
		b = build.New(t)
		l.at[dir] = b
		l.report.trees = append(l.report.trees, t)
	}
	return b
}

// render renders every cluster, and what no cluster gets.
func (l *linter) render() {
	l.define(l.root)
	for _, b := range l.at {
		l.define(b)
	}
	var names []string
	for _, n := range l.tree.List("clusters") {
		if name, isDir := strings.CutSuffix(n, "/"); isDir && !strings.HasPrefix(n, ".") {
			names = append(names, name)
		}
	}
	l.clusters = make([]*render.Cluster, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			l.clusters[i] = l.fleet.Cluster(name)
			return nil
		})
	}
	_ = g.Wait() // none of them fails
	l.report.Clusters = len(names)
	tenants := map[string]bool{}
	for _, c := range l.clusters {
		for _, t := range c.Tenants {
			tenants[t.Tenant.Name] = true
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
			if o.Release != nil {
				l.crd(o.Object, o.Fields)
			}
		}
	}
	l.report.Tenants = len(tenants)
	l.unbuilt(l.root)
	for _, b := range l.at {
		l.unbuilt(b)
	}
}

// unbuilt builds the kustomizations that no cluster applies: what others build on comes
// with them.
func (l *linter) unbuilt(b *build.Builder) {
	included := map[string]bool{}
	var dirs []string
	for _, name := range manifests(b.Tree()) {
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

// manifests are the YAML files of a tree that may be read: nothing hidden, and no chart's
// templates, which are no YAML yet.
func manifests(t *tree.Tree) []string {
	var all []string
	var walk func(dir string)
	walk = func(dir string) {
		names := t.List(dir)
		chart := slices.Contains(names, "Chart.yaml")
		for _, n := range names {
			switch sub, isDir := strings.CutSuffix(n, "/"); {
			case strings.HasPrefix(n, "."):
			case isDir && (chart && (sub == "templates" || sub == "charts") || sub == "node_modules"):
			case isDir:
				walk(path.Join(dir, sub))
			case tree.IsYAML(n):
				all = append(all, path.Join(dir, n))
			}
		}
	}
	walk(".")
	return all
}
