// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/tree"
)

// Place is where something is written. Line and Column count from 1; 0 is not known.
type Place struct {
	File         string
	Line, Column int
}

func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Problem is a mistake in what is built.
type Problem struct {
	// Rule that it breaks.
	Rule string
	Place
	// What is wrong and, where it can be told, what to do.
	What, Mend string
}

// ID tells the objects of a build apart.
type ID struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// effective is an ID as kustomize compares it: no namespace is the default one.
func effective(id ID) ID {
	if id.Namespace == "" {
		id.Namespace = "default"
	}
	return id
}

func (id ID) String() string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

// Object is an object as a directory renders it.
type Object struct {
	ID
	// File that it is written in, as the process would open it.
	File string
	// Node is how it is written there; nil for what a generator made.
	Node *yaml.Node
	// Stub stands in for an object of Flux itself that bootstrap adds on the cluster's
	// branch, so that what is done to it can be seen. Nothing of it is in the tree.
	Stub bool

	// start is what patches are put on, where that is not what is written.
	start   map[string]any
	patches []*patch
	done    int // how many of the patches are in start already
	once    sync.Once
	fields  map[string]any
	problem *Problem
}

// Written is an object as it is written.
func Written(file string, n *yaml.Node) *Object {
	return &Object{ID: idOf(n), File: file, Node: n}
}

func idOf(n *yaml.Node) ID {
	return ID{
		GroupVersionKind: schema.FromAPIVersionAndKind(tree.Text(n, "apiVersion"), tree.Text(n, "kind")),
		Namespace:        tree.Text(n, "metadata", "namespace"), Name: tree.Text(n, "metadata", "name"),
	}
}

// Made is an object that something makes of another, and that is written where that is.
func Made(of *Object, fields map[string]any) *Object {
	o := &Object{ID: IDOf(fields), File: of.File, Node: of.Node, patches: of.patches, done: len(of.patches), start: fields, fields: fields}
	o.once.Do(func() {}) // its fields are known
	return o
}

// IDOf is what an object calls itself.
func IDOf(fields map[string]any) ID {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	id := ID{GroupVersionKind: schema.FromAPIVersionAndKind(apiVersion, kind)}
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		id.Namespace, _ = metadata["namespace"].(string)
		id.Name, _ = metadata["name"].(string)
	}
	return id
}

// ids are what patches may call the object: what it is called now and, where a
// kustomization below renamed it or put it into a namespace, how it is written.
func (o *Object) ids() []ID {
	if o.Node != nil && len(o.Node.Content) > 0 {
		if written := idOf(o.Node); written != o.ID && written.Kind == o.Kind {
			return []ID{o.ID, written}
		}
	}
	return []ID{o.ID}
}

// with is the object with a further patch; the one that it builds on is left as it is.
func (o *Object) with(p *patch) *Object {
	return &Object{ID: o.ID, File: o.File, Node: o.Node, Stub: o.Stub, start: o.start, done: o.done, patches: append(o.patches[:len(o.patches):len(o.patches)], p)}
}

// Fields are those of the object with all patches. They are shared: nobody changes them.
func (o *Object) Fields() (map[string]any, *Problem) {
	o.once.Do(func() { o.fields, o.problem = o.render() })
	return o.fields, o.problem
}

func (o *Object) render() (map[string]any, *Problem) {
	fields, err := o.unpatched()
	if err != nil {
		e := tree.YAMLError(o.File, err)
		if e.Line == 0 && o.Node != nil {
			e.Line = o.Node.Line
		}
		if strings.Contains(e.What, "invalid map key") {
			e.What = "it has {{ in it, as a template of a chart has, and is none"
		}
		return nil, SyntaxProblem(e)
	}
	for _, p := range o.patches[o.done:] {
		if p.operations == nil {
			mergePatch(fields, p.merge)
			continue
		}
		if fields, err = p.operate(fields); err != nil {
			return nil, &Problem{Rule: "patch-unfit", Place: p.place, What: fmt.Sprintf("this patch doesn't fit %s: %v", o.ID, err), Mend: "patch what is there: a path of a JSON patch has to exist, but for its last part in add"}
		}
	}
	if metadata, ok := fields["metadata"].(map[string]any); ok && len(o.patches) > 0 {
		metadata["name"] = o.Name // a patch may call it as it is written
		if o.Namespace != "" {
			metadata["namespace"] = o.Namespace
		}
	}
	return fields, nil
}

// unpatched are the object's fields before the patches, for nobody else.
func (o *Object) unpatched() (map[string]any, error) {
	if o.start != nil {
		return runtime.DeepCopyJSON(o.start), nil
	}
	v, err := tree.ToValue(o.Node)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no mapping")
	}
	return fields, nil
}

// mergePatch merges as a JSON merge patch does (RFC 7386).
func mergePatch(into, patch map[string]any) {
	for k, v := range patch {
		inner, isMap := v.(map[string]any)
		there, both := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap && both:
			mergePatch(there, inner)
		case isMap:
			fresh := map[string]any{}
			mergePatch(fresh, inner) // what it deletes is not there
			into[k] = fresh
		default:
			into[k] = runtime.DeepCopyJSONValue(v)
		}
	}
}

// At is where the object is written.
func (o *Object) At() Place {
	if o.Node == nil {
		return Place{File: o.File}
	}
	return Place{o.File, o.Node.Line, o.Node.Column}
}

// Place is where a field of it is written: in the last patch that says it, else in the
// object. Of one that is nowhere, the innermost object around it that is somewhere.
func (o *Object) Place(path ...any) Place {
	if o.Node == nil {
		return Place{File: o.File}
	}
	for i := len(o.patches) - 1; i >= 0; i-- {
		p := o.patches[i]
		if n := p.find(path); n != nil {
			return p.at(n)
		}
	}
	n, _ := follow(o.Node, path)
	return Place{o.File, n.Line, n.Column}
}

// follow goes down a path as far as it leads, and tells whether that is all the way.
// It ends at the name of a field, which is where people look.
func follow(n *yaml.Node, path []any) (*yaml.Node, bool) {
	at := n
	for _, step := range path {
		var next *yaml.Node
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		switch key := step.(type) {
		case int:
			if n.Kind == yaml.SequenceNode && key < len(n.Content) {
				next = n.Content[key]
				at = next
			}
		case string:
			for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == key {
					next = n.Content[i+1]
					at = n.Content[i]
				}
			}
		}
		if next == nil {
			return at, false
		}
		n = next
	}
	return at, true
}

// Value is what the object has at a path of names, or nil.
func Value(fields map[string]any, path ...string) any {
	var v any = fields
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// Text is the text that an object has at a path of names, or "".
func Text(fields map[string]any, path ...string) string {
	s, _ := Value(fields, path...).(string)
	return s
}

// Items are the entries of the list that an object has at a path of names.
func Items(fields map[string]any, path ...string) []any {
	list, _ := Value(fields, path...).([]any)
	return list
}

// SyntaxProblem is what is wrong with a file's text.
func SyntaxProblem(err error) *Problem {
	p := &Problem{Rule: "yaml-syntax", What: err.Error(), Mend: "mend the YAML"}
	var e *tree.Error
	if errors.As(err, &e) {
		p.Place, p.What = Place{File: e.File, Line: e.Line}, e.What
		switch {
		case strings.Contains(e.What, "link that leads out"), strings.Contains(e.What, "leads out of the repository"):
			p.Rule, p.Mend = "link-outside", "put the file itself into the repository"
		case strings.Contains(e.What, "MB, and no manifest"), strings.Contains(e.What, "regular file"), strings.Contains(e.What, "in a circle"):
			p.Rule, p.Mend = "file-unreadable", ""
		}
	}
	return p
}

// objectOf is an object that was rendered already.
func objectOf(content []byte, file string) (*Object, *Problem) {
	fields := map[string]any{}
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, &Problem{Rule: "kustomize", Place: Place{File: file}, What: err.Error()}
	}
	o := &Object{ID: IDOf(fields), File: file, start: fields, fields: fields}
	o.once.Do(func() {})
	return o, nil
}

// Scalar is how a field's value is written, or nil where it is not.
func (o *Object) Scalar(path ...any) *yaml.Node {
	for i := len(o.patches) - 1; i >= 0; i-- {
		if o.patches[i].find(path) != nil {
			return nil // a patch's text, which is not the file's
		}
	}
	n := o.Node
	for _, step := range path {
		switch key := step.(type) {
		case string:
			n = tree.Field(n, key)
		case int:
			if n == nil || n.Kind != yaml.SequenceNode || key >= len(n.Content) {
				return nil
			}
			n = n.Content[key]
		}
	}
	return n
}

// Sources are the mappings that the object is written in: its own, and those of patches
// that name it. Whole is false when some stand in texts of a kustomization.
func (o *Object) Sources() (all []Source, whole bool) {
	all, whole = []Source{{o.File, o.Node}}, o.Node != nil
	for _, p := range o.patches {
		switch {
		case p.targeted:
		case p.inline:
			whole = false
		default:
			all = append(all, Source{p.place.File, p.node})
		}
	}
	return all, whole
}

// Source is a mapping in a file.
type Source struct {
	File string
	Node *yaml.Node
}
