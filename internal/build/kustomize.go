// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/tree"
)

// origin is the annotation in which kustomize says where an object is from.
const origin = "config.kubernetes.io/origin"

// slow has kustomize render a directory, with fields over those of its kustomization. What
// it reads it gets from the tree.
func (b *Builder) slow(dir string, over map[string]any) *Result {
	if problem := b.refuse(dir); problem != nil {
		return &Result{Problems: []Problem{*problem}}
	}
	f := &files{builder: b, root: dir, virtual: map[string][]byte{}}
	if over != nil {
		content, err := b.merged(dir, over)
		if err != nil {
			return &Result{Problems: []Problem{b.told(dir, err)}}
		}
		f.virtual[path.Join(dir, "kustomization.yaml")] = content
	}
	b.stubbed(f, dir)
	resources, err := kustomize(f, "/"+dir)
	if err != nil {
		return &Result{Problems: []Problem{b.told(dir, err)}}
	}
	r := &Result{}
	for _, res := range resources {
		annotations := res.GetAnnotations()
		from := b.origin(dir, annotations[origin])
		delete(annotations, origin)
		for _, internal := range []string{kioutil.PathAnnotation, kioutil.IndexAnnotation} {
			delete(annotations, internal)
		}
		if err := res.SetAnnotations(annotations); err != nil {
			return &Result{Problems: []Problem{b.told(dir, err)}}
		}
		content, err := res.MarshalJSON()
		if err != nil {
			return &Result{Problems: []Problem{b.told(dir, err)}}
		}
		o, problem := objectOf(content, b.tree.Full(from))
		if problem != nil {
			return &Result{Problems: []Problem{*problem}}
		}
		o.Stub = path.Base(from) == components && f.virtual[from] != nil
		if !o.Stub {
			o.Node = b.written(from, o.ID)
		}
		r.Objects = append(r.Objects, o)
	}
	return r
}

// most is how many directories kustomize may have to build for one, if there are not that
// many: it builds one that is included from several sides once for each.
const most = 1_000

// refuse names what a kustomization, or one that it builds on, would fetch or can't read.
func (b *Builder) refuse(dir string) *Problem {
	r := &refusal{builder: b, builds: map[string]int{}}
	if problem := r.visit(dir, nil); problem != nil {
		return problem
	}
	if r.builds[dir] > most && r.builds[dir] > 4*len(r.builds) {
		return &Problem{
			Rule: "kustomize", Place: Place{File: b.tree.Full(b.tree.KustomizationIn(dir)), Line: 1},
			What: fmt.Sprintf("it includes the same directories over and over: kustomize would build %d", r.builds[dir]), Mend: "include each directory once",
		}
	}
	return nil
}

// refusal counts how often directories are built, each looked at once.
type refusal struct {
	builder *Builder
	builds  map[string]int
}

func (r *refusal) visit(dir string, above []string) *Problem {
	b := r.builder
	if slices.Contains(above, dir) {
		return &Problem{Rule: "kustomize-loop", Place: Place{File: b.tree.Full(b.tree.KustomizationIn(dir)), Line: 1}, What: "it includes itself: " + strings.Join(append(above, dir), " -> "), Mend: "take one of these out of the other's resources"}
	}
	if r.builds[dir] > 0 {
		return nil
	}
	r.builds[dir] = 1
	file := b.tree.KustomizationIn(dir)
	if file == "" {
		return nil
	}
	k, problem := b.kustomization(file)
	if problem != nil {
		return problem
	}
	if problem := b.remote(file, k, false); problem != nil {
		return problem
	}
	builds := 1
	for _, list := range []string{"resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators"} {
		for _, n := range tree.Items(k, list) {
			if n.Kind != yaml.ScalarNode || strings.Contains(n.Value, "\n") {
				continue // an inline generator
			}
			target := b.tree.Real(path.Join(dir, n.Value))
			if problem := b.reachable(file, n, path.Join(dir, n.Value)); problem != nil {
				return problem
			}
			if b.tree.KustomizationIn(target) == "" && !b.tree.IsFile(target) {
				return b.missing(file, n, n.Value) // kustomize would take it for a repository
			}
			if list == "generators" || list == "transformers" || list == "validators" {
				if problem := b.fetching(target); problem != nil {
					return problem
				}
			}
			if problem := r.visit(target, append(above[:len(above):len(above)], dir)); problem != nil {
				return problem
			}
			builds = min(builds+r.builds[target], 1<<40)
		}
	}
	r.builds[dir] = builds
	if n := tree.Field(k, "helmCharts"); n != nil {
		return &Problem{Rule: "kustomize", Place: Place{b.tree.Full(file), n.Line, n.Column}, What: "helmCharts is not rendered by Flux", Mend: "use a HelmRelease"}
	}
	return nil
}

// paths are the fields of kustomizations, and of generators and transformers, in which
// kustomize takes a URL for something to fetch.
var paths = map[string]bool{
	"files": true, "envs": true, "env": true, "path": true, "crds": true, "configurations": true, "generators": true, "transformers": true,
	"validators": true, "resources": true, "bases": true, "components": true, "patchesStrategicMerge": true, "valuesFile": true,
}

// remote refuses what a kustomization would fetch, wherever it says so.
func (b *Builder) remote(file string, n *yaml.Node, within bool) *Problem {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if problem := b.remote(file, n.Content[i+1], within || paths[n.Content[i].Value]); problem != nil {
				return problem
			}
		}
	case yaml.SequenceNode:
		for _, sub := range n.Content {
			if problem := b.remote(file, sub, within); problem != nil {
				return problem
			}
		}
	case yaml.ScalarNode:
		value := n.Value
		if key, rest, ok := strings.Cut(value, "="); ok && !strings.Contains(key, "/") {
			value = rest
		}
		if within && !strings.Contains(value, "\n") && strings.Contains(value, "://") {
			return b.reachable(file, &yaml.Node{Kind: yaml.ScalarNode, Value: value, Line: n.Line, Column: n.Column}, "")
		}
	case yaml.AliasNode:
		return &Problem{Rule: "kustomize", Place: Place{b.tree.Full(file), n.Line, n.Column}, What: "an alias in a kustomization is not followed here", Mend: "write it out"}
	}
	return nil
}

// fetching refuses what a generator or transformer would fetch.
func (b *Builder) fetching(file string) *Problem {
	if b.tree.KustomizationIn(file) != "" {
		return nil // it is visited
	}
	documents, err := b.documents(file)
	if err != nil {
		return SyntaxProblem(err)
	}
	for _, d := range documents {
		if problem := b.remote(file, d, false); problem != nil {
			return problem
		}
	}
	return nil
}

// components is the file that `flux bootstrap` writes beside the sync.
const components = "gotk-components.yaml"

// stubbed puts stand-ins for Flux's controllers beside a sync that has none.
func (b *Builder) stubbed(f *files, dir string) {
	for _, d := range b.closure(dir, map[string]bool{}) {
		file := b.tree.KustomizationIn(d)
		if path.Base(d) != "flux-system" || file == "" || f.virtual[file] != nil || b.tree.IsFile(path.Join(d, components)) {
			continue
		}
		k, problem := b.kustomization(file)
		if problem != nil {
			continue
		}
		stubs := bootstrapped(b.tree.Full(file), k, nil)
		if len(stubs) == 0 {
			continue
		}
		text := &bytes.Buffer{}
		for _, o := range stubs {
			content, err := tree.ToJSON(o.Node)
			if err != nil {
				continue // it is ours
			}
			fmt.Fprintf(text, "---\n%s\n", content)
		}
		with := yaml.NewRNode(k).Copy().YNode()
		if list := tree.Field(with, "resources"); list != nil {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: components})
		}
		content, err := yaml.Marshal(with)
		if err != nil {
			continue
		}
		f.virtual[file], f.virtual[path.Join(d, components)] = content, text.Bytes()
	}
}

// closure are a directory and all that it builds on.
func (b *Builder) closure(dir string, seen map[string]bool) []string {
	dir = b.tree.Real(dir)
	file := b.tree.KustomizationIn(dir)
	if seen[dir] || file == "" {
		return nil
	}
	seen[dir] = true
	all := []string{dir}
	if k, problem := b.kustomization(file); problem == nil {
		for _, list := range []string{"resources", "bases", "components"} {
			for _, n := range tree.Items(k, list) {
				all = append(all, b.closure(path.Join(dir, n.Value), seen)...)
			}
		}
	}
	return all
}

// one lets kustomize run once at a time: it has a schema for all, which some
// kustomizations change.
var one sync.Mutex

// kustomize renders. What it can't stand is an error.
func kustomize(f filesys.FileSystem, dir string) (all []*resource.Resource, err error) {
	one.Lock()
	defer one.Unlock()
	before := openapi.GetSchemaVersion()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("kustomize gave up: %v", r)
		}
		if openapi.GetSchemaVersion() != before {
			openapi.ResetOpenAPI() // a schema of one repository is not another's
		}
	}()
	resources, err := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig()}).Run(f, dir)
	if err != nil {
		return nil, err
	}
	return resources.Resources(), nil
}

// origin is the file that kustomize says an object is from.
func (b *Builder) origin(dir, annotation string) string {
	n, err := yaml.Parse(annotation)
	if err != nil || annotation == "" {
		return b.tree.KustomizationIn(dir)
	}
	for _, field := range []string{"path", "configuredIn"} {
		if name := tree.Text(n.YNode(), field); name != "" {
			return path.Join(dir, name)
		}
	}
	return b.tree.KustomizationIn(dir)
}

// written is how an object is written in a file: the one of its kind and name, or the
// only one of its kind where it was renamed.
func (b *Builder) written(file string, id ID) *yaml.Node {
	documents, err := b.tree.Documents(file)
	if err != nil {
		return nil
	}
	var kin []*yaml.Node
	for _, d := range tree.Flattened(documents) {
		if tree.Text(d, "kind") != id.Kind {
			continue
		}
		if tree.Text(d, "metadata", "name") == id.Name {
			return d
		}
		kin = append(kin, d)
	}
	if len(kin) == 1 {
		return kin[0]
	}
	if len(documents) > 0 && documents[0].Kind == yaml.MappingNode {
		return documents[0] // a generator
	}
	return nil
}

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// told is what kustomize says, in a line, at the place that it is about.
func (b *Builder) told(dir string, err error) Problem {
	file := b.tree.KustomizationIn(dir)
	what := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "/"+dir, dir)), " ")
	p := Problem{Rule: "kustomize", Place: Place{File: b.tree.Full(file), Line: 1}, What: "kustomize can't build it: " + what}
	if m := unknownField.FindStringSubmatch(what); m != nil {
		p.What, p.Mend = m[1]+" is no field of a kustomization", "see whether it is misspelt"
		if content, err := b.tree.Read(file); err == nil {
			p.Line = tree.LineOf(content, m[1])
		}
	}
	return p
}

// files is a tree as kustomize reads it, rooted at /. Nothing is written.
type files struct {
	builder *Builder
	root    string            // the directory that is rendered
	virtual map[string][]byte // files that are not in the tree, or not like this
}

func name(full string) string { return strings.TrimPrefix(path.Clean(filepath.ToSlash(full)), "/") }

func (f *files) tree() *tree.Tree { return f.builder.tree }

func (f *files) Create(string) (filesys.File, error) { return nil, errReadOnly }
func (f *files) Mkdir(string) error                  { return errReadOnly }
func (f *files) MkdirAll(string) error               { return errReadOnly }
func (f *files) RemoveAll(string) error              { return errReadOnly }
func (f *files) WriteFile(string, []byte) error      { return errReadOnly }

func (f *files) Open(full string) (filesys.File, error) { return nil, notExist(full) }

func (f *files) IsDir(full string) bool {
	n := name(full)
	return n == "" || f.tree().IsDir(n)
}

func (f *files) Exists(full string) bool {
	return f.IsDir(full) || f.virtual[name(full)] != nil || f.tree().IsFile(name(full))
}

func (f *files) ReadDir(full string) ([]string, error) {
	var all []string
	for _, n := range f.tree().List(name(full)) {
		all = append(all, strings.TrimSuffix(n, "/"))
	}
	return all, nil
}

func (f *files) CleanedAbs(full string) (filesys.ConfirmedDir, string, error) {
	clean := "/" + name(full)
	switch {
	case f.IsDir(clean):
		return filesys.ConfirmedDir(clean), "", nil
	case f.tree().IsFile(name(clean)) || f.virtual[name(clean)] != nil:
		return filesys.ConfirmedDir(path.Dir(clean)), path.Base(clean), nil
	}
	return "", "", notExist(full)
}

func (f *files) Glob(pattern string) ([]string, error) {
	var all []string
	dir := path.Dir(name(pattern))
	for _, n := range f.tree().List(dir) {
		if ok, err := path.Match(path.Base(pattern), n); err != nil {
			return nil, err
		} else if ok {
			all = append(all, path.Join("/", dir, n))
		}
	}
	return all, nil
}

func (f *files) Walk(full string, walk filepath.WalkFunc) error { return notExist(full) }

// ReadFile gives kustomize a file; in the first kustomization it is asked to say where
// each object is from.
func (f *files) ReadFile(full string) ([]byte, error) {
	n := name(full)
	content, made := f.virtual[n]
	if !made {
		var err error
		if content, err = f.tree().Read(n); err != nil {
			if os.IsNotExist(err) {
				return nil, notExist(full)
			}
			return nil, err
		}
		f.builder.use(n)
	}
	if path.Dir(n) != path.Clean(f.root) || !strings.EqualFold(strings.TrimSuffix(path.Base(n), path.Ext(n)), "kustomization") {
		return content, nil
	}
	documents, err := tree.Parse(n, content)
	if err != nil || len(documents) == 0 {
		return content, err
	}
	if m := tree.Field(documents[0], "buildMetadata"); m != nil {
		return content, nil // whoever says it themselves gets what they say
	}
	return fmt.Appendf(content[:len(content):len(content)], "\nbuildMetadata: [originAnnotations]\n"), nil
}
