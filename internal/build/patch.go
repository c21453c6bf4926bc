// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"

	kustomizepatch "gopkg.in/evanphx/json-patch.v4"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/tree"
	"github.com/tenantry/tenantry/internal/words"
)

// patch is a change that a kustomization makes to objects.
type patch struct {
	place      Place
	inline     bool       // it stands in a text of the kustomization
	shift      [2]int     // lines and columns from that text's to the file's
	node       *yaml.Node // a mapping to merge, or a sequence of JSON patch operations
	merge      map[string]any
	operations jsonpatch.Patch
	id         ID // of the one object that it is for, when it is for one
	targeted   bool
	selects    func(ID) bool
	deletes    bool
}

// at is a place within the patch.
func (p *patch) at(n *yaml.Node) Place {
	if p.inline {
		return Place{p.place.File, n.Line + p.shift[0], n.Column + p.shift[1]}
	}
	return Place{p.place.File, n.Line, n.Column}
}

// find is where the patch says a field, or nil.
func (p *patch) find(field []any) *yaml.Node {
	if p.operations == nil {
		for n := len(field); n > 0; n-- {
			if at, all := follow(p.node, field[:n]); all {
				if n == len(field) || p.replaces(field[:n]) {
					return at
				}
				return nil
			}
		}
		return nil
	}
	pointer := pointerOf(field)
	for i := len(p.node.Content) - 1; i >= 0; i-- {
		operation := p.node.Content[i]
		to := strings.TrimSuffix(tree.Text(operation, "path"), "/-")
		if to == pointer || strings.HasPrefix(pointer, to+"/") {
			if v := tree.Field(operation, "value"); v != nil {
				return v
			}
			return operation
		}
	}
	return nil
}

// replaces tells whether the patch has a list at a path, and so all that is in it.
func (p *patch) replaces(path []any) bool {
	n := p.node
	for _, step := range path {
		name, ok := step.(string)
		if !ok {
			return true
		}
		if n = tree.Field(n, name); n == nil {
			return false
		}
	}
	return n.Kind == yaml.SequenceNode
}

func pointerOf(path []any) string {
	b := strings.Builder{}
	for _, step := range path {
		fmt.Fprintf(&b, "/%s", strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return b.String()
}

// A patch that copies an object into itself doubles it with each step.
func init() {
	jsonpatch.AccumulatedCopySizeLimit = tree.MaxFile
	kustomizepatch.AccumulatedCopySizeLimit = tree.MaxFile
}

// errSlow says that only kustomize itself can render a kustomization.
var errSlow = errors.New("more than resources and plain patches")

// operate does what a JSON patch says.
func (p *patch) operate(fields map[string]any) (map[string]any, error) {
	content, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	if content, err = p.operations.Apply(content); err != nil {
		return nil, err
	}
	out := map[string]any{}
	return out, kjson.Unmarshal(content, &out)
}

// patchesOf reads one entry of a kustomization's patches.
func (b *Builder) patchesOf(dir, file string, entry *yaml.Node) ([]*patch, *Problem, error) {
	at := Place{b.tree.Full(file), entry.Line, entry.Column}
	name, text := tree.Text(entry, "path"), tree.Field(entry, "patch")
	target := tree.Field(entry, "target")
	switch {
	case entry.Kind == yaml.ScalarNode && !strings.Contains(entry.Value, "\n"):
		name = entry.Value
	case entry.Kind == yaml.ScalarNode:
		text = entry
	case !only(entry, "path", "patch", "target") || target != nil && !only(target, "group", "version", "kind", "name", "namespace"):
		return nil, nil, errSlow
	}
	var documents []*yaml.Node
	var err error
	inline, shift, raw := false, [2]int{}, []byte(nil)
	if name != "" {
		from := path.Join(dir, name)
		if problem := b.reachable(file, &yaml.Node{Kind: yaml.ScalarNode, Value: name, Line: entry.Line, Column: entry.Column}, from); problem != nil {
			return nil, problem, nil
		}
		documents, err = b.documents(from)
		raw, _ = b.tree.Read(from) // it was read just now
		at = Place{File: b.tree.Full(from), Line: 1, Column: 1}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, b.missing(file, entry, name), nil
		}
	} else if text != nil {
		at = Place{at.File, text.Line, text.Column}
		inline, shift = true, b.shift(file, text)
		raw = []byte(text.Value)
		documents, err = tree.Parse(at.File, raw)
	}
	if err == nil && bytes.HasPrefix(raw, []byte("[")) && !json.Valid(raw) {
		return nil, &Problem{Rule: "kustomize", Place: at, What: "a patch that begins with [ is read as JSON, and this is none", Mend: "quote names and texts, or write a list of several lines"}, nil
	}
	if err != nil {
		p := SyntaxProblem(err)
		if inline {
			p.Line += shift[0]
		}
		return nil, p, nil
	}
	if len(documents) == 0 {
		return nil, &Problem{Rule: "kustomize", Place: at, What: "this patch is empty", Mend: "write what is to change, or take it out"}, nil
	}
	var all []*patch
	for _, d := range documents {
		p := &patch{place: at, inline: inline, shift: shift, node: d, targeted: target != nil}
		if !inline && d.Line > 0 {
			p.place.Line, p.place.Column = d.Line, d.Column
		}
		if err := p.read(target); err != nil {
			if errors.Is(err, errSlow) {
				return nil, nil, err
			}
			return nil, &Problem{Rule: "kustomize", Place: p.place, What: "this patch can't be read: " + err.Error()}, nil
		}
		all = append(all, p)
	}
	return all, nil, nil
}

// only tells whether a mapping has no fields but those, and nothing odd in them.
func only(n *yaml.Node, fields ...string) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i].Value, n.Content[i+1]
		if !slices.Contains(fields, name) || name != "target" && (v.Kind != yaml.ScalarNode || v.Tag != yaml.NodeTagString) {
			return false
		}
	}
	return true
}

// shift is how far the lines and columns of a text in a file are from the file's.
func (b *Builder) shift(file string, text *yaml.Node) [2]int {
	if text.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return [2]int{text.Line - 1, text.Column}
	}
	content, err := b.tree.Read(file)
	if err != nil {
		return [2]int{text.Line, 0}
	}
	lines := strings.SplitN(string(content), "\n", text.Line+2)
	if len(lines) < text.Line+1 {
		return [2]int{text.Line, 0}
	}
	line := lines[text.Line]
	return [2]int{text.Line, len(line) - len(strings.TrimLeft(line, " "))}
}

// read makes of a patch's document what is done, and to what.
func (p *patch) read(target *yaml.Node) error {
	var err error
	if p.node.Kind == yaml.SequenceNode {
		content, err := tree.ToJSON(p.node)
		if err != nil {
			return err
		}
		if p.operations, err = jsonpatch.DecodePatch(content); err != nil {
			return err
		}
		for _, operation := range p.node.Content {
			switch tree.Text(operation, "path") {
			case "/metadata", "/metadata/name", "/metadata/namespace", "/kind", "/apiVersion":
				return errSlow // it is another object then
			}
		}
	} else {
		v, err := tree.ToValue(p.node)
		if err != nil {
			return err
		}
		p.merge, _ = v.(map[string]any)
		p.deletes = tree.Text(p.node, "$patch") == "delete"
	}
	if p.targeted {
		if p.selects, err = selector(target); err != nil {
			return err
		}
		p.id = ID{Name: tree.Text(target, "name"), GroupVersionKind: schema.GroupVersionKind{Kind: tree.Text(target, "kind")}}
		if p.operations == nil && !p.deletes && !p.plain(ID{}) {
			return errSlow
		}
		return nil
	}
	p.id = idOf(p.node)
	p.selects = func(id ID) bool { return effective(id) == effective(p.id) }
	if p.operations != nil {
		return errors.New("a JSON patch needs a target")
	}
	if !p.deletes && !p.plain(p.id) {
		return errSlow
	}
	return nil
}

// plain tells whether a merge is the same to kustomize as a JSON merge patch: it knows
// the lists of Kubernetes' own kinds, and directives.
func (p *patch) plain(id ID) bool {
	custom := id.Kind != "" && strings.Contains(id.Group, ".") && !strings.HasSuffix(id.Group, ".k8s.io")
	return plain(p.node, custom)
}

func plain(n *yaml.Node, lists bool) bool {
	switch n.Kind {
	case yaml.AliasNode:
		return false
	case yaml.SequenceNode:
		if !lists {
			return false
		}
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			if strings.HasPrefix(n.Content[i].Value, "$") || n.Content[i].Kind != yaml.ScalarNode || n.Content[i].Value == "<<" {
				return false
			}
		}
	}
	for _, sub := range n.Content {
		if !plain(sub, lists) {
			return false
		}
	}
	return true
}

// selector is how kustomize reads a target: each part an expression for the whole.
func selector(target *yaml.Node) (func(ID) bool, error) {
	parts := []struct {
		name string
		of   func(ID) string
		re   *regexp.Regexp
	}{
		{name: "group", of: func(id ID) string { return id.Group }},
		{name: "version", of: func(id ID) string { return id.Version }},
		{name: "kind", of: func(id ID) string { return id.Kind }},
		{name: "name", of: func(id ID) string { return id.Name }},
		{name: "namespace", of: func(id ID) string { return id.Namespace }},
	}
	for i := range parts {
		text := tree.Text(target, parts[i].name)
		if text == "" {
			continue
		}
		var err error
		if parts[i].re, err = regexp.Compile("^(?:" + text + ")$"); err != nil {
			return nil, fmt.Errorf("target.%s: %w", parts[i].name, err)
		}
	}
	return func(id ID) bool {
		for _, p := range parts {
			if p.re != nil && !p.re.MatchString(p.of(id)) {
				return false
			}
		}
		return true
	}, nil
}

// exact tells whether a target's name is one name and no expression.
func exact(name string) bool {
	return name != "" && regexp.QuoteMeta(name) == strings.ReplaceAll(name, ".", `\.`)
}

// patched puts patches on objects. Most are for one object, so a list of them costs no
// more than its length.
func patched(all []*Object, patches []*patch) ([]*Object, []Problem) {
	if len(patches) == 0 {
		return all, nil
	}
	all = append([]*Object{}, all...)
	named := map[string][]int{}
	for i, o := range all {
		for _, id := range o.ids() {
			named[id.Name] = append(named[id.Name], i)
		}
	}
	var problems []Problem
	gone := map[int]bool{}
	for _, p := range patches {
		found := 0
		put := func(i int) {
			if gone[i] || !slices.ContainsFunc(all[i].ids(), p.selects) {
				return
			}
			found++
			if p.deletes {
				gone[i] = true
			} else {
				all[i] = all[i].with(p)
			}
		}
		if exact(p.id.Name) {
			for _, i := range slices.Compact(slices.Clone(named[p.id.Name])) {
				put(i)
			}
		} else {
			for i := range all {
				put(i)
			}
		}
		switch {
		case found > 0:
		case p.targeted:
			problems = append(problems, Problem{Rule: "patch-idle", Place: p.place, What: "its target matches nothing, so this patch does nothing", Mend: "name what is there, or take the patch out"})
		default:
			mend := "name an object that the resources above bring, or take the patch out"
			var kin []string
			for _, o := range all {
				if o.Kind == p.id.Kind {
					kin = append(kin, o.Name)
				}
			}
			if near := words.Nearest(p.id.Name, kin); near != "" && near != p.id.Name {
				mend = "did you mean " + near + "?"
			}
			for _, i := range named[p.id.Name] {
				if all[i].Kind == p.id.Kind {
					mend = fmt.Sprintf("there is %s of %s in namespace %q: name that", all[i].ID, all[i].GroupVersion(), all[i].Namespace)
				}
			}
			problems = append(problems, Problem{Rule: "patch-target", Place: p.place, What: fmt.Sprintf("it patches %s of %s, which is not among what it is applied to", p.id, p.id.GroupVersion()), Mend: mend})
		}
	}
	var left []*Object
	for i, o := range all {
		if !gone[i] {
			left = append(left, o)
		}
	}
	return left, problems
}
