// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"path"
	"strings"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/tree"
)

// gather renders every cluster, and builds what no cluster gets.
func (l *linter) gather() {
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
		l.gaps(c)
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
		l.unchecked("what the repositories of tenants hold: "+strings.Join(names, ", "), "no directory stands in for them: name one in tenantry.yaml, or with --map")
	}
	for _, b := range l.fleet.Repositories() {
		l.unapplied(b)
	}
}

func (l *linter) unchecked(what, why string) {
	l.report.Unchecked = append(l.report.Unchecked, Unchecked{What: legible(what), Why: legible(why)})
}

// gaps says what of a cluster could not be rendered, because it is not at hand.
func (l *linter) gaps(c *render.Cluster) {
	for _, a := range c.Absent {
		l.unchecked(fmt.Sprintf("what %s %s syncs", a.Kind, a.URL), "no directory stands in for it: name one in tenantry.yaml, or with --map")
	}
	for _, r := range c.Releases {
		if r.Why != "" {
			l.unchecked(fmt.Sprintf("what HelmRelease %s/%s installs", r.Object.Namespace, r.Object.Name), r.Why)
		}
	}
}

// unapplied builds the kustomizations that no cluster applies: first those that no other
// builds on, as most of these come with them.
func (l *linter) unapplied(b *build.Builder) {
	dirs, included := kustomizations(b.Tree())
	seen := map[*build.Object]bool{}
	for _, last := range []bool{false, true} {
		for _, dir := range dirs {
			if included[dir] != last || b.Used(b.Tree().KustomizationIn(dir)) {
				continue
			}
			r := b.Build(dir)
			for _, p := range r.Problems {
				l.problem(p, "")
			}
			for _, o := range r.Objects {
				if !o.Stub && !seen[o] {
					seen[o] = true
					l.loose = append(l.loose, o)
				}
			}
		}
	}
}

// kustomizations are the directories of a tree that have one, without components, which
// do something only to others, and those that another builds on.
func kustomizations(t *tree.Tree) (dirs []string, included map[string]bool) {
	included = map[string]bool{}
	for _, name := range t.Manifests() {
		if !strings.HasPrefix(path.Base(name), "kustomization.") {
			continue
		}
		dir := path.Dir(name)
		documents, err := t.Documents(name)
		if err != nil || len(documents) == 0 {
			dirs = append(dirs, dir) // building it tells why
			continue
		}
		if tree.Text(documents[0], "kind") == "Component" {
			continue
		}
		dirs = append(dirs, dir)
		for _, list := range []string{"resources", "bases"} {
			for _, n := range tree.Items(documents[0], list) {
				included[path.Join(dir, n.Value)] = true
			}
		}
	}
	return dirs, included
}
