// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
)

// cluster checks what one cluster gets, as a whole.
func (l *linter) cluster(c *render.Cluster) error {
	whole := !build.Broken(c.Problems)
	l.ownPath(c)
	l.twice(c)
	l.overlaps(c)
	l.walls(c)
	for _, o := range c.Objects {
		l.namespaced(c, o)
	}
	if whole { // what is missing may be in what could not be rendered
		l.references(c)
	}
	return l.admission(c)
}

// ownPath holds the cluster's own Kustomization to its own directory.
func (l *linter) ownPath(c *render.Cluster) {
	root := c.Syncs[0]
	if root.Object == nil || root.Spec.Path == "" {
		return
	}
	if want := "clusters/" + c.Name; clean(root.Spec.Path) != want {
		l.about("cluster-path", c, root.Object, []any{"spec", "path"}, "cluster "+c.Name+" syncs "+root.Spec.Path, "say path: ./"+want)
	}
}

// twice notes objects that two Kustomizations of a cluster apply.
func (l *linter) twice(c *render.Cluster) {
	seen := make(map[build.ID]*render.Object, len(c.Objects))
	told := map[[2]*render.Sync]bool{}
	for _, o := range c.Objects {
		if o.Compiled || o.Sync.Spec.Suspend {
			continue
		}
		first := seen[o.ID]
		if first == nil {
			seen[o.ID] = o
			continue
		}
		if first.Sync == o.Sync && o.Release == first.Release {
			continue // its build told it
		}
		rule, what := "applied-twice", o.String()+" is applied by Kustomization "+nameOf(o.Sync)+" and by "+nameOf(first.Sync)+" ("+first.At().String()+")"
		if o.Kind == "Tenant" && o.Group == "tenantry.dev" {
			rule, what = "tenant-twice", "tenant "+o.Name+" is declared at "+first.At().String()+" too"
		}
		pair := [2]*render.Sync{first.Sync, o.Sync}
		if rule == "applied-twice" && told[pair] {
			continue // once for the two of them
		}
		told[pair] = true
		l.about(rule, c, o, nil, what, "")
	}
}

func nameOf(s *render.Sync) string { return s.ID.Namespace + "/" + s.ID.Name }

// unset notes variables without a value, where they stand.
func (l *linter) unset(c *render.Cluster, s *render.Sync) {
	if s.Builder == nil || s.Spec.PostBuild == nil {
		return
	}
	if !s.AllVars { // which have a value, nobody can say, and that is told
		for _, o := range s.Builder.Build(s.Dir).Objects {
			if fields, problem := o.Fields(); problem == nil && pathOf(fields, "${") != nil {
				l.guessed[o] = true
			}
		}
		return
	}
	for _, o := range s.Builder.Build(s.Dir).Objects {
		for _, name := range s.Unset(o) {
			l.guessed[o] = true
			at := variableAt(o, name)
			l.find("variable-unset", at, o.String(), c.Name, "${"+name+"} has no value in Kustomization "+nameOf(s), "")
		}
	}
}
