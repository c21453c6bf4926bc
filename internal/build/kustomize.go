// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/tree"
)

// origin is the annotation in which kustomize says where an object is from.
const origin = "config.kubernetes.io/origin"

// slow has kustomize render a directory. What it reads it gets from the tree.
func (b *Builder) slow(dir string) *Result {
	if problem := b.refuse(dir); problem != nil {
		return &Result{Problems: []Problem{*problem}}
	}
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(&files{builder: b, root: dir}, "/"+dir)
	if err != nil {
		return &Result{Problems: []Problem{b.told(dir, err)}}
	}
	r := &Result{}
	for _, res := range resources.Resources() {
		annotations := res.GetAnnotations()
		from := b.origin(dir, annotations[origin])
		delete(annotations, origin)
		for _, internal := range []string{kioutil.PathAnnotation, kioutil.IndexAnnotation, kioutil.LegacyPathAnnotation, kioutil.LegacyIndexAnnotation} {
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
		o.Node = b.written(from, o.ID)
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
	builds := 1
	for _, list := range []string{"resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators"} {
		for _, n := range tree.Items(k, list) {
			if n.Kind != yaml.ScalarNode || strings.Contains(n.Value, "\n") {
				continue // an inline generator
			}
			target := path.Join(dir, n.Value)
			if problem := b.reachable(file, n, target); problem != nil {
				return problem
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
	root    string // the directory that is rendered
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

func (f *files) Exists(full string) bool { return f.IsDir(full) || f.tree().IsFile(name(full)) }

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
	case f.tree().IsFile(name(clean)):
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
	content, err := f.tree().Read(n)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, notExist(full)
		}
		return nil, err
	}
	f.builder.use(n)
	if n != f.builder.tree.KustomizationIn(f.root) {
		return content, nil
	}
	documents, err := f.tree().Documents(n)
	if err != nil || len(documents) == 0 {
		return content, err
	}
	if m := tree.Field(documents[0], "buildMetadata"); m != nil {
		return content, nil // whoever says it themselves gets what they say
	}
	return fmt.Appendf(content[:len(content):len(content)], "\nbuildMetadata: [originAnnotations]\n"), nil
}
