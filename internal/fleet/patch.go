// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// patch is a change that a kustomization makes to objects.
type patch struct {
	dir      string // of the kustomization
	file     string // of the patch, or of the kustomization when it stands there
	line     int
	node     *yaml.Node // a mapping to merge, or a sequence of JSON patch operations
	kind     string     // "" is any
	names    func(string) bool
	exact    string // the one name that it is for, when it is for one
	targeted bool   // by a target, not by its own name
}

// patch is what one entry of a kustomization's patches does to objects of the kind.
func (c *collector) patch(dir, file string, entry *yaml.Node) ([]patch, error) {
	name := tree.Text(entry, "path")
	if entry.Kind == yaml.ScalarNode {
		name = entry.Value
	}
	target := tree.Field(entry, "target")
	at := patch{dir: dir, file: file, line: entry.Line, targeted: target != nil, kind: tree.Text(target, "kind"), exact: tree.Text(target, "name")}
	if kind, err := matching(at.kind); err != nil || target != nil && !kind(c.kind) {
		return nil, err
	}
	for _, selector := range []string{"labelSelector", "annotationSelector"} {
		if n := tree.Field(target, selector); n != nil && c.kind == "Tenant" {
			return nil, &tree.Error{File: c.tree.Full(file), Line: n.Line, What: "target." + selector + " is not followed: say kind: Tenant and the names that the patch is for"}
		}
	}
	var documents []*yaml.Node
	var err error
	if name != "" {
		at.file = path.Join(dir, name)
		documents, err = c.tree.Documents(at.file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &tree.Error{File: c.tree.Full(file), Line: entry.Line, What: "it names " + name + ", which is not there"}
		}
	} else {
		documents, err = tree.Parse(c.tree.Full(file), []byte(tree.Text(entry, "patch")))
	}
	if err != nil {
		return nil, err
	}
	var all []patch
	for _, d := range documents {
		p := at
		p.node, p.line = d, max(d.Line, 1)
		if name == "" {
			p.line = entry.Line
		}
		if !at.targeted { // a patch without a target names its object itself
			p.kind, p.exact = tree.Text(d, "kind"), tree.Text(d, "metadata", "name")
			if p.kind != c.kind || !strings.HasPrefix(tree.Text(d, "apiVersion"), c.version) {
				continue
			}
			p.names = func(n string) bool { return n == p.exact }
		} else if p.names, err = matching(p.exact); err != nil {
			return nil, &tree.Error{File: c.tree.Full(file), Line: entry.Line, What: fmt.Sprintf("target.name: %v", err)}
		}
		if at.targeted && regexp.QuoteMeta(p.exact) != p.exact {
			p.exact = ""
		}
		all = append(all, p)
	}
	return all, nil
}

// matching is how kustomize reads a target's name: an expression for the whole of it.
func matching(name string) (func(string) bool, error) {
	if name == "" {
		return func(string) bool { return true }, nil
	}
	re, err := regexp.Compile("^(?:" + name + ")$")
	if err != nil {
		return nil, err
	}
	return re.MatchString, nil
}

// patched puts patches on objects. Most patches are for one object, so a list of
// them costs no more than its length.
func (c *collector) patched(all []document, patches []patch) ([]document, error) {
	if len(patches) == 0 {
		return all, nil
	}
	named := map[string][]int{}
	for i, d := range all {
		named[d.name] = append(named[d.name], i)
	}
	put := func(i int, p patch) {
		all[i].patches = append(slices.Clip(all[i].patches), p) // others share the slice below
	}
	gone := map[int]bool{}
	for _, p := range patches {
		if tree.Text(p.node, "$patch") == "delete" {
			for i := range all {
				gone[i] = gone[i] || p.names(all[i].name)
			}
			continue
		}
		if p.exact == "" {
			for i := range all {
				if p.names(all[i].name) {
					put(i, p)
				}
			}
			continue
		}
		for _, i := range named[p.exact] {
			put(i, p)
		}
		if len(named[p.exact]) == 0 && !p.targeted { // kustomize lets a target match nothing, and refuses this
			return nil, &tree.Error{File: c.tree.Full(p.file), Line: p.line, What: fmt.Sprintf("it patches %s %s, which is not among what it is applied to", c.kind, p.exact)}
		}
	}
	var left []document
	for i, d := range all {
		if !gone[i] {
			left = append(left, d)
		}
	}
	return left, nil
}
