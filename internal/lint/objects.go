// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/schema"
	"github.com/tenantry/tenantry/internal/words"
)

// sorts are the rules that the sorts of a schema's problems break.
var sorts = map[schema.Sort]string{
	schema.UnknownField: "unknown-field", schema.Missing: "missing-field", schema.Invalid: "invalid-value",
	schema.Metadata: "metadata", schema.Rule: "crd-rule",
}

// objects holds every object to its schema: once, however many clusters get it.
func (l *linter) objects() {
	type task struct {
		object  *build.Object
		fields  map[string]any
		cluster string
	}
	var tasks []task
	seen := map[uintptr]bool{}
	take := func(o *build.Object, fields map[string]any, cluster string) {
		if at := reflect.ValueOf(fields).Pointer(); !seen[at] {
			seen[at] = true
			tasks = append(tasks, task{o, fields, cluster})
		}
	}
	shared := map[*build.Object]int{}
	for _, c := range l.clusters {
		for _, o := range c.Objects {
			if !o.Compiled {
				shared[o.Object]++
			}
		}
	}
	for _, c := range l.clusters {
		for _, o := range c.Objects {
			if o.Compiled {
				continue
			}
			cluster := c.Name
			if shared[o.Object] > 1 {
				cluster = ""
			}
			take(o.Object, o.Fields, cluster)
		}
	}
	for _, o := range l.loose {
		if fields, problem := o.Fields(); problem == nil {
			take(o, fields, "")
		} else {
			l.problem(*problem, "")
		}
	}
	l.report.Objects = len(tasks)
	unknown := &unknowns{count: map[string]int{}}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	const batch = 64
	for chunk := range slices.Chunk(tasks, batch) {
		g.Go(func() error {
			for _, t := range chunk {
				l.object(t.object, t.fields, t.cluster, unknown)
			}
			return nil
		})
	}
	_ = g.Wait() // none of them fails
	for kind, n := range unknown.count {
		l.report.Unchecked = append(l.report.Unchecked, Unchecked{What: fmt.Sprintf("%s (%d)", kind, n), Why: "its CRD is not in the fleet"})
	}
}

// unknowns are kinds that nobody here knows.
type unknowns struct {
	mu    sync.Mutex
	count map[string]int
}

func (u *unknowns) add(kind string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count[kind]++
}

// object holds one object to its schema.
func (l *linter) object(o *build.Object, fields map[string]any, cluster string, unknown *unknowns) {
	id := build.IDOf(fields)
	note := func(rule string, at build.Place, what, mend string) {
		l.find(rule, at, id.String(), cluster, what, mend)
	}
	if _, ok := l.fleet.Kinds.Kind(id.GroupVersionKind); !ok {
		rule, what, mend, to, known := l.unserved(id.GroupVersionKind)
		if !known {
			unknown.add(fmt.Sprintf("%s of %s", id.Kind, id.GroupVersion()))
			return
		}
		at := o.Place("apiVersion")
		if rule == "unknown-kind" {
			at = o.Place("kind")
		}
		f := Finding{Rule: rule, File: at.File, Line: at.Line, Column: at.Column, Object: id.String(), What: what, Mend: mend}
		if cluster != "" {
			f.Clusters = []string{cluster}
		}
		if rule == "removed-api" && to.Version != "" {
			f.fix, f.Mend = l.moved(o, fields, to, f.Mend)
			f.Fixable = f.fix != nil
		}
		l.lint.add(f)
		return
	}
	if l.guessed[o] {
		return
	}
	problems, err := l.fleet.Kinds.Check(decrypted(fields))
	if err != nil {
		note("crd-invalid", o.At(), err.Error(), "")
		return
	}
	var more []mistake
	if len(problems) == 0 {
		more = mistakes(id, fields)
	}
	for _, m := range more {
		note("invalid-value", o.Place(m.path...), m.what, "the API server refuses it")
	}
	if len(problems)+len(more) > 0 {
		l.mu.Lock()
		l.broken[reflect.ValueOf(fields).Pointer()] = true
		l.mu.Unlock()
	}
	for _, p := range problems {
		if id.Kind == "Secret" && len(p.Path) > 0 && p.Path[0] != "metadata" && p.Sort != schema.UnknownField {
			p.What = fmt.Sprintf("%s is not allowed there", dotted(p.Path)) // its value is nobody's business
			if p.Path[0] == "data" {
				p.What, p.Mend = dotted(p.Path)+" is no base64", "encode it, or write it under stringData; and encrypt it"
			}
		}
		note(sorts[p.Sort], o.Place(p.Path...), p.What, p.Mend)
	}
}

func dotted(path []any) string {
	var parts []string
	for _, p := range path {
		parts = append(parts, fmt.Sprint(p))
	}
	return strings.Join(parts, ".")
}

// decrypted is an object as it would be without what sops has put into it.
func decrypted(fields map[string]any) map[string]any {
	if fields["sops"] == nil {
		return fields
	}
	out := map[string]any{}
	for k, v := range fields {
		switch {
		case k == "sops":
		case k == "data" && fields["kind"] == "Secret": // base64 before, and what it was nobody can say
		default:
			out[k] = v
		}
	}
	return out
}

// namespaced notes objects that Flux could not put anywhere.
func (l *linter) namespaced(c *render.Cluster, o *render.Object) {
	k, ok := l.fleet.Kinds.Kind(o.GroupVersionKind)
	if ok && k.Namespaced && o.Namespace == "" && !o.Compiled && o.Release == nil {
		l.about("no-namespace", c, o, []any{"metadata"}, o.String()+" has no namespace, and Flux gives it none", "")
	}
}

func (l *linter) groups() map[string]bool {
	l.once.Do(func() { l.served = l.fleet.Kinds.Groups() })
	return l.served
}

func nearest(name string, among []string) string { return words.Nearest(name, among) }
