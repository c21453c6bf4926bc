// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/tree"
)

// Fix mends what is mechanical, in memory: the trees that changed have it. It tells how
// many findings it mended.
func (r *Report) Fix() (fixed int, trees []*tree.Tree, err error) {
	for _, f := range slices.Backward(r.Findings) { // a line that goes moves those after it
		if f.fix == nil {
			continue
		}
		if err := f.fix(); err != nil {
			return fixed, nil, fmt.Errorf("%s: %w", f.Place(), err)
		}
		fixed++
	}
	for _, t := range r.trees {
		if len(t.ChangedNames()) > 0 {
			trees = append(trees, t)
		}
	}
	return fixed, trees, nil
}

// fileOf is the tree of a file, and its name there.
func (r *Report) fileOf(full string) (*tree.Tree, string, bool) {
	for _, t := range r.trees {
		if name, ok := t.Name(full); ok {
			return t, name, true
		}
	}
	return nil, "", false
}

// moved changes an object's apiVersion where nothing else has to change with it, in its
// file and in the patches that name it.
func (l *linter) moved(o *build.Object, fields map[string]any, to schema.GroupVersion, mend string) (fix, string) {
	sources, whole := o.Sources()
	after := runtime.DeepCopyJSON(fields)
	after["apiVersion"] = to.String()
	problems, err := l.fleet.Kinds.Check(after)
	if _, served := l.fleet.Kinds.Kind(to.WithKind(o.Kind)); err != nil || !served {
		return nil, mend
	}
	if len(problems) > 0 {
		return nil, mend + fmt.Sprintf(", where more has to change: %s", problems[0].What)
	}
	if !whole {
		return nil, mend + ", also in the kustomization's own patches of it"
	}
	return func() error {
		for _, s := range sources {
			t, name, ok := l.report.fileOf(s.File)
			if !ok {
				return fmt.Errorf("%s is in no repository that is checked", s.File)
			}
			if err := reversion(t, name, o.ID, to); err != nil {
				return err
			}
		}
		return nil
	}, mend + "; --fix does it"
}

// reversion changes the apiVersion of an object, or of a patch of it, in a file.
func reversion(t *tree.Tree, name string, id build.ID, to schema.GroupVersion) error {
	documents, err := t.Documents(name)
	if err != nil {
		return err
	}
	change := func(n *yaml.Node) bool {
		if tree.Text(n, "apiVersion") != id.GroupVersion().String() || tree.Text(n, "kind") != id.Kind || tree.Text(n, "metadata", "name") != id.Name {
			return false
		}
		tree.Field(n, "apiVersion").Value = to.String()
		return true
	}
	for i, d := range documents {
		if !slices.ContainsFunc(tree.Flattened([]*yaml.Node{d}), func(n *yaml.Node) bool {
			return tree.Text(n, "apiVersion") == id.GroupVersion().String() && tree.Text(n, "kind") == id.Kind && tree.Text(n, "metadata", "name") == id.Name
		}) {
			continue
		}
		return t.Edit(name, i, func(root *yaml.Node) error {
			for _, n := range tree.Flattened([]*yaml.Node{root}) {
				if change(n) {
					break
				}
			}
			return nil
		})
	}
	return nil // another finding's fix did it
}

// renewed moves the entries of a field that kustomize gives up to the one that it has
// instead.
func renewed(t *tree.Tree, name, old, instead string) fix {
	return func() error {
		return t.Edit(name, 0, func(k *yaml.Node) error {
			from := tree.Field(k, old)
			if from == nil {
				return nil
			}
			for i, n := range from.Content {
				from.Content[i] = entry(n, instead)
			}
			if tree.Field(k, instead) == nil { // another name is all that it needs
				k.Content[slices.Index(k.Content, from)-1].Value = instead
				return nil
			}
			to, err := tree.ListIn(k, true, instead)
			if err != nil {
				return err
			}
			// The order in which kustomize works them off: strategic merges, patches, JSON patches.
			if old == "patchesStrategicMerge" {
				to.Content = append(slices.Clone(from.Content), to.Content...)
			} else {
				to.Content = append(to.Content, from.Content...)
			}
			tree.Unfold(to)
			tree.Without(k, old)
			return nil
		})
	}
}

// entry is an entry of an old list in the form of its new one.
func entry(n *yaml.Node, list string) *yaml.Node {
	if list != "patches" || n.Kind != yaml.ScalarNode {
		return n
	}
	key := "path"
	if strings.Contains(n.Value, "\n") {
		key = "patch"
	}
	return &yaml.Node{Kind: yaml.MappingNode, HeadComment: n.HeadComment, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Value: key}, {Kind: yaml.ScalarNode, Value: n.Value, Style: n.Style, LineComment: n.LineComment},
	}}
}

// withoutComment takes a comment out of a file, if it still stands there.
func withoutComment(a *allowance) fix {
	before, err := a.tree.Read(a.name)
	if err != nil {
		return nil
	}
	comment := strings.SplitAfter(string(before), "\n")[a.line-1]
	return func() error {
		content, err := a.tree.Read(a.name)
		if err != nil {
			return err
		}
		lines := strings.SplitAfter(string(content), "\n")
		at := slices.Index(lines, comment) // another fix may have moved it
		if at < 0 {
			return nil
		}
		if rest := strings.TrimRight(comment[:a.column-1], " \t"); rest == "" {
			lines = slices.Delete(lines, at, at+1)
		} else {
			lines[at] = rest + comment[len(strings.TrimRight(comment, "\r\n")):]
		}
		after := []byte(strings.Join(lines, ""))
		if !tree.Same(content, after) {
			return fmt.Errorf("the comment in line %d can't be taken out without changing what the file says", a.line)
		}
		a.tree.Put(a.name, after)
		return nil
	}
}
