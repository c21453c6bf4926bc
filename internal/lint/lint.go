// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tenantry/tenantry/internal/admit"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
)

// linter is one run.
type linter struct {
	fleet    *render.Fleet
	policies *admit.Policies
	clusters []*render.Cluster
	loose    []*build.Object // what no cluster gets

	report *Report
	lint   collected

	// told are files with a problem, broken the fields of objects that no API server takes,
	// and guessed objects of which too little is known: what else could be said of them
	// would only repeat it.
	told    map[string]bool
	mu      sync.Mutex
	broken  map[uintptr]bool
	guessed map[*build.Object]bool

	once   sync.Once
	served map[string]bool // API groups
}

// Run checks the repository in dir: a fleet, or any other.
func Run(dir string, opts render.Options) (*Report, error) {
	l, err := newLinter(dir, opts)
	if err != nil {
		return nil, err
	}
	l.gather()
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
