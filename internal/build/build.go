// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/tree"
	"github.com/tenantry/tenantry/internal/words"
)

// Builder renders directories of a tree, and keeps what it rendered.
type Builder struct {
	tree *tree.Tree

	mu    sync.Mutex
	built map[string]*Result
	used  map[string]bool
}

// Result is what a directory renders.
type Result struct {
	Objects []*Object
	// Problems keep kustomize from rendering it; the objects are then those that were
	// found all the same. Rules that only warn are among them.
	Problems []Problem
}

// New is the builder of a tree.
func New(t *tree.Tree) *Builder {
	return &Builder{tree: t, built: map[string]*Result{}, used: map[string]bool{}}
}

// Tree is what it builds from.
func (b *Builder) Tree() *tree.Tree { return b.tree }

// Used tells whether a file, or the kustomization of a directory, was part of anything
// that was built.
func (b *Builder) Used(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used[name]
}

func (b *Builder) use(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used[name] = true
}

func (b *Builder) documents(name string) ([]*yaml.Node, error) {
	b.use(name)
	return b.tree.Documents(name)
}

// Build renders a directory: by its kustomization or, as Flux does where there is none,
// all manifests in it.
func (b *Builder) Build(dir string) *Result { return b.build(path.Clean(dir), nil) }

func (b *Builder) build(dir string, above []string) *Result {
	dir = b.tree.Real(dir)
	b.mu.Lock()
	r, ok := b.built[dir]
	b.mu.Unlock()
	if ok {
		return r
	}
	if slices.Contains(above, dir) {
		chain := strings.Join(append(above[slices.Index(above, dir):], dir), " -> ")
		return &Result{Problems: []Problem{{
			Rule: "kustomize-loop", Place: Place{File: b.tree.Full(b.tree.KustomizationIn(dir)), Line: 1},
			What: "it includes itself: " + chain, Mend: "take one of these out of the other's resources",
		}}}
	}
	r = b.fresh(dir, above[:len(above):len(above)])
	b.mu.Lock()
	defer b.mu.Unlock()
	if first := b.built[dir]; first != nil {
		return first
	}
	r.Objects, r.Problems = slices.Clip(r.Objects), slices.Clip(r.Problems) // many append to them
	b.built[dir] = r
	return r
}

func (b *Builder) fresh(dir string, above []string) *Result {
	file := b.tree.KustomizationIn(dir)
	if file == "" {
		return b.scan(dir, above)
	}
	k, problem := b.kustomization(file)
	if problem != nil {
		return &Result{Problems: []Problem{*problem}}
	}
	if len(tree.Items(k, "components")) > 0 { // they are worked off each time that they are named
		if problem := b.refuse(dir); problem != nil && problem.Rule == "kustomize" {
			return &Result{Problems: []Problem{*problem}}
		}
	}
	r := &Result{}
	slow := b.layer(r, dir, file, k, append(above, dir)) != nil
	if slow && !Broken(r.Problems) { // else kustomize would say the first of them, in other words
		return b.slow(dir, nil)
	}
	if slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Rule == "kustomize-loop" }) {
		r.Objects = nil // which of them there would be, nobody can say
	}
	b.single(r, file)
	return r
}

// Broken tells whether any of the problems keeps kustomize from rendering.
func Broken(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Rule != "patch-idle" })
}

// kustomization is the one of a file.
func (b *Builder) kustomization(file string) (*yaml.Node, *Problem) {
	documents, err := b.documents(file)
	if err != nil {
		return nil, SyntaxProblem(err)
	}
	at := Place{File: b.tree.Full(file), Line: 1}
	switch {
	case len(documents) == 0:
		return nil, &Problem{Rule: "kustomize", Place: at, What: "the kustomization is empty", Mend: "list resources in it, or take it away"}
	case documents[0].Kind != yaml.MappingNode:
		return nil, &Problem{Rule: "kustomize", Place: at, What: "a kustomization is a mapping, and this is none"}
	}
	for _, f := range []struct{ field, want string }{{"kind", "Kustomization"}, {"apiVersion", "kustomize.config.k8s.io/v1beta1"}} {
		is := tree.Text(documents[0], f.field)
		component := tree.Text(documents[0], "kind") == "Component" && (f.field == "kind" || strings.HasPrefix(is, "kustomize.config.k8s.io/"))
		if is != "" && is != f.want && !component {
			at.Line, at.Column = tree.Field(documents[0], f.field).Line, tree.Field(documents[0], f.field).Column
			return nil, &Problem{Rule: "kustomize", Place: at, What: f.field + " is " + is + ", and kustomize wants " + f.want, Mend: "a file of this name is kustomize's: give a Kustomization of Flux another name, or mend the " + f.field}
		}
	}
	return documents[0], nil
}

// quick are the fields of a kustomization that are rendered here.
var quick = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true, "resources": true, "bases": true, "components": true,
	"patches": true, "patchesStrategicMerge": true, "patchesJson6902": true, "sortOptions": true,
}

// layer adds what a kustomization, or a component on top of others, brings and does.
func (b *Builder) layer(r *Result, dir, file string, k *yaml.Node, above []string) error {
	slow := error(nil)
	for i := 0; i+1 < len(k.Content); i += 2 {
		if name, v := k.Content[i].Value, k.Content[i+1]; !quick[name] && !tree.Empty(v) {
			slow = errSlow
		} else if list := name != "apiVersion" && name != "kind" && name != "metadata" && name != "sortOptions"; list && v.Kind != yaml.SequenceNode && !tree.Empty(v) {
			slow = errSlow // kustomize says best what it wants there
		}
	}
	resources := slices.Concat(tree.Items(k, "resources"), tree.Items(k, "bases"))
	for _, found := range each(resources, func(n *yaml.Node) *Result { return b.resource(dir, file, n, above) }) {
		r.Objects = append(r.Objects, found.Objects...)
		r.Problems = append(r.Problems, found.Problems...)
	}
	if path.Base(dir) == "flux-system" {
		r.Objects = append(r.Objects, bootstrapped(b.tree.Full(file), k, r.Objects)...)
	}
	for _, n := range tree.Items(k, "components") {
		if problem := b.component(r, dir, file, n, above, &slow); problem != nil {
			r.Problems = append(r.Problems, *problem)
		}
	}
	var patches []*patch
	for _, entry := range slices.Concat(tree.Items(k, "patchesStrategicMerge"), tree.Items(k, "patches"), tree.Items(k, "patchesJson6902")) {
		found, problem, err := b.patchesOf(dir, file, entry)
		if err != nil {
			slow = err
		}
		if problem != nil {
			r.Problems = append(r.Problems, *problem)
		}
		patches = append(patches, found...)
	}
	if slow != nil {
		return slow
	}
	known := !Broken(r.Problems)
	objects, problems := patched(r.Objects, patches)
	r.Objects = objects
	if known { // what could not be read may be what they patch
		r.Problems = append(r.Problems, problems...)
	}
	return nil
}

// component adds one entry of a kustomization's components.
func (b *Builder) component(r *Result, dir, file string, n *yaml.Node, above []string, slow *error) *Problem {
	target := path.Join(dir, n.Value)
	if problem := b.reachable(file, n, target); problem != nil {
		return problem
	}
	if b.tree.KustomizationIn(target) == "" {
		return b.missing(file, n, n.Value)
	}
	return b.componentAt(r, target, Place{b.tree.Full(file), n.Line, n.Column}, slow, above...)
}

// componentAt adds the component of a directory.
func (b *Builder) componentAt(r *Result, target string, at Place, slow *error, above ...string) *Problem {
	target = path.Clean(target)
	if slices.Contains(above, target) {
		return &Problem{Rule: "kustomize-loop", Place: at, What: target + " includes itself"}
	}
	file := b.tree.KustomizationIn(target)
	if file == "" {
		return &Problem{Rule: "path-missing", Place: at, What: "component " + target + " is not there", Mend: "name a directory with a kustomization.yaml of kind Component"}
	}
	k, problem := b.kustomization(file)
	if problem != nil {
		return problem
	}
	if err := b.layer(r, target, file, k, append(above[:len(above):len(above)], target)); err != nil {
		*slow = err
	}
	return nil
}

// each does the same for all entries of a list, on all processors, in their order.
func each[T any](list []*yaml.Node, do func(*yaml.Node) T) []T {
	found := make([]T, len(list))
	if len(list) < 8 { // not worth the handing over
		for i, n := range list {
			found[i] = do(n)
		}
		return found
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, n := range list {
		g.Go(func() error {
			found[i] = do(n)
			return nil
		})
	}
	_ = g.Wait() // none of them fails
	return found
}

// resource is what one entry of a kustomization's resources brings.
func (b *Builder) resource(dir, file string, n *yaml.Node, above []string) *Result {
	target := path.Join(dir, n.Value)
	if problem := b.reachable(file, n, target); problem != nil {
		return &Result{Problems: []Problem{*problem}}
	}
	switch {
	case b.tree.KustomizationIn(target) != "":
		return b.build(target, above)
	case b.tree.IsFile(target):
		return b.file(target)
	default:
		return &Result{Problems: []Problem{*b.missing(file, n, n.Value)}}
	}
}

// reachable refuses what is elsewhere: nothing is fetched, and nothing outside is read.
func (b *Builder) reachable(file string, n *yaml.Node, target string) *Problem {
	at := Place{b.tree.Full(file), n.Line, n.Column}
	switch {
	case n.Kind != yaml.ScalarNode || n.Value == "":
		return &Problem{Rule: "kustomize", Place: at, What: "a resource is a path, and this is none"}
	case tree.IsRemote(n.Value):
		return &Problem{Rule: "remote-base", Place: at, What: n.Value + " is fetched from elsewhere, which Flux's lockdown refuses and nobody has reviewed here", Mend: "bring it into the repository, or sync it as a source of its own"}
	case target == ".." || strings.HasPrefix(target, "../") || path.IsAbs(n.Value):
		return &Problem{Rule: "path-outside", Place: at, What: n.Value + " leads out of the repository", Mend: "name a path inside of it: Flux reads nothing else"}
	}
	return nil
}

func (b *Builder) missing(file string, n *yaml.Node, name string) *Problem {
	p := &Problem{Rule: "path-missing", Place: Place{b.tree.Full(file), n.Line, n.Column}, What: name + " is not there", Mend: "name a file, or a directory with a kustomization.yaml"}
	target := path.Join(path.Dir(file), name)
	if b.tree.IsDir(target) {
		p.What, p.Mend = name+" is a directory without a kustomization.yaml", "put one there, or name its files"
		return p
	}
	var there []string
	for _, n := range b.tree.List(path.Dir(target)) {
		if n = strings.TrimSuffix(n, "/"); !strings.HasPrefix(n, "kustomization.") {
			there = append(there, n)
		}
	}
	if near := words.Nearest(path.Base(target), there); near != "" {
		p.Mend = fmt.Sprintf("did you mean %s?", path.Join(path.Dir(name), near))
	}
	return p
}

// scan reads a directory that has no kustomization, as Flux does: all of its manifests,
// and directories that have one as kustomizations.
func (b *Builder) scan(dir string, above []string) *Result {
	r := &Result{}
	for _, name := range b.tree.List(dir) {
		found := &Result{}
		switch sub, isDir := strings.CutSuffix(name, "/"); {
		case b.tree.Ignored(path.Join(dir, sub), isDir):
		case isDir:
			found = b.build(path.Join(dir, sub), append(above, dir))
		case tree.IsYAML(name):
			found = b.file(path.Join(dir, name))
		}
		r.Objects, r.Problems = append(r.Objects, found.Objects...), append(r.Problems, found.Problems...)
	}
	b.single(r, dir)
	return r
}

// file is the objects of a file.
func (b *Builder) file(name string) *Result {
	documents, err := b.documents(name)
	if err != nil {
		return &Result{Problems: []Problem{*SyntaxProblem(err)}}
	}
	r := &Result{}
	full := b.tree.Full(name)
	for _, d := range tree.Flattened(documents) {
		o := Written(full, d)
		switch {
		case d.Kind != yaml.MappingNode || o.Kind == "" || o.Version == "":
			r.Problems = append(r.Problems, Problem{Rule: "not-an-object", Place: o.At(), What: "this is no Kubernetes object: it has no apiVersion and kind", Mend: "take it out of the resources, or complete it"})
		case o.Name == "" && tree.Text(d, "metadata", "generateName") == "":
			r.Problems = append(r.Problems, Problem{Rule: "not-an-object", Place: o.At(), What: o.Kind + " has no metadata.name", Mend: "name it"})
		case tree.Text(d, "metadata", "annotations", "config.kubernetes.io/local-config") == "true": // kustomize leaves it out
		default:
			r.Objects = append(r.Objects, o)
		}
	}
	return r
}

// single takes out objects that a kustomization has twice, which kustomize refuses, and
// what is told twice: directories that include another from two sides would double both
// at each step.
func (b *Builder) single(r *Result, file string) {
	seen := make(map[ID]*Object, len(r.Objects))
	told := map[Place]bool{}
	for _, p := range r.Problems {
		told[p.Place] = true
	}
	var objects []*Object
	for _, o := range r.Objects {
		first := seen[effective(o.ID)]
		if first == nil {
			seen[effective(o.ID)] = o
			objects = append(objects, o)
			continue
		}
		if at := o.At(); !told[at] {
			told[at] = true
			r.Problems = append(r.Problems, Problem{
				Rule: "object-twice", Place: at,
				What: fmt.Sprintf("%s is in %s twice, here and at %s", o.ID, b.tree.Full(file), first.At()), Mend: "leave one of them out",
			})
		}
	}
	r.Objects = objects
	once := map[Problem]bool{}
	r.Problems = slices.DeleteFunc(r.Problems, func(p Problem) bool {
		again := once[p]
		once[p] = true
		return again
	})
}

// Exists tells whether a directory is there.
func (b *Builder) Exists(dir string) bool { return b.tree.IsDir(path.Clean(dir)) }

var errReadOnly = errors.New("a build writes nothing")

func notExist(name string) error { return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} }
