// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tenantry/tenantry/internal/tree"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// document is an object of the fleet, where it stands, and the patches that the
// kustomizations above it put on it, in their order.
type document struct {
	file    string
	overlay string     // path of the overlay that it was found by
	node    *yaml.Node // the object's mapping
	kind    string
	name    string
	patches []patch
}

// collector gathers the objects of one kind that a directory renders, as Flux and
// kustomize would find them, without rendering anything.
type collector struct {
	tree    *tree.Tree
	wanted  *regexp.Regexp // what a file's text must match to be worth parsing
	version string         // prefix of apiVersion
	kind    string

	mu   sync.Mutex
	seen map[string][]document // by directory
}

func collectorOf(t *tree.Tree, group, kind string) *collector {
	return &collector{
		tree: t, version: group + "/", kind: kind, seen: map[string][]document{},
		wanted: regexp.MustCompile(`apiVersion["']?\s*:\s*["']?` + regexp.QuoteMeta(group) + `/`),
	}
}

// collect finds the objects that a directory renders, once. above are the
// directories that lead here.
func (c *collector) collect(dir string, above ...string) ([]document, error) {
	c.mu.Lock()
	all, ok := c.seen[dir]
	c.mu.Unlock()
	if ok {
		return all, nil
	}
	all, err := c.gather(dir, above)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[dir] = all
	return all, nil
}

func (c *collector) gather(dir string, above []string) ([]document, error) {
	above = above[:len(above):len(above)] // siblings append to it at the same time
	for _, a := range above {
		if a == dir {
			return nil, &tree.Error{File: c.tree.KustomizationIn(dir), What: "it includes itself, by way of " + strings.Join(above, ", ")}
		}
	}
	file := c.tree.KustomizationIn(dir)
	if file == "" {
		return c.scan(dir, above)
	}
	documents, err := c.tree.Documents(file)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, nil
	}
	k := documents[0]
	var resources []*yaml.Node
	for _, list := range []string{"resources", "bases", "components"} {
		resources = append(resources, tree.Items(k, list)...)
	}
	all, err := each(resources, func(r *yaml.Node) ([]document, error) { return c.resource(dir, file, r, append(above, dir)) })
	if err != nil {
		return nil, err
	}
	for _, renames := range []string{"namePrefix", "nameSuffix"} {
		if n := tree.Field(k, renames); n != nil && len(all) > 0 && c.kind == "Tenant" {
			return nil, &tree.Error{File: c.tree.Full(file), Line: n.Line, What: renames + " renames tenants, which their own files then don't say: write their names in full"}
		}
	}
	entries := slices.Concat(tree.Items(k, "patches"), tree.Items(k, "patchesStrategicMerge"), tree.Items(k, "patchesJson6902"))
	patches, err := each(entries, func(entry *yaml.Node) ([]patch, error) { return c.patch(dir, file, entry) })
	if err != nil {
		return nil, err
	}
	return c.patched(all, patches)
}

// each reads what the entries of a list lead to, on all processors, in their order.
func each[T any](list []*yaml.Node, read func(*yaml.Node) ([]T, error)) ([]T, error) {
	found := make([][]T, len(list))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, n := range list {
		g.Go(func() (err error) {
			found[i], err = read(n)
			return err
		})
	}
	err := g.Wait()
	return slices.Concat(found...), err
}

// resource is what one entry of a kustomization's resources brings.
func (c *collector) resource(dir, file string, r *yaml.Node, above []string) ([]document, error) {
	if tree.IsRemote(r.Value) {
		return nil, nil // what is elsewhere is not read
	}
	target := path.Join(dir, r.Value)
	if strings.HasPrefix(target, "../") {
		return nil, &tree.Error{File: c.tree.Full(file), Line: r.Line, What: r.Value + " leads out of the fleet"}
	}
	switch {
	case c.tree.KustomizationIn(target) != "":
		return c.collect(target, above...)
	case c.tree.IsFile(target):
		return c.file(target)
	default:
		return nil, &tree.Error{File: c.tree.Full(file), Line: r.Line, What: "it names " + r.Value + ", which is not there"}
	}
}

// scan reads a directory that has no kustomization, as Flux does: all of its files.
func (c *collector) scan(dir string, above []string) ([]document, error) {
	var all []document
	for _, name := range c.tree.List(dir) {
		var found []document
		var err error
		switch sub, isDir := strings.CutSuffix(name, "/"); {
		case isDir:
			found, err = c.collect(path.Join(dir, sub), append(above, dir)...)
		case tree.IsYAML(name):
			found, err = c.file(path.Join(dir, name))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// large is from when on a file is parsed only for cause: walls are half a megabyte.
const large = 64 << 10

// file is the objects of a file. A large one that can't hold any is not parsed.
func (c *collector) file(name string) ([]document, error) {
	content, err := c.tree.Read(name)
	if err != nil || len(content) > large && !c.wanted.Match(content) {
		return nil, err
	}
	documents, err := c.tree.Documents(name)
	if err != nil {
		return nil, err
	}
	var all []document
	for _, o := range tree.Flattened(documents) {
		if !strings.HasPrefix(tree.Text(o, "apiVersion"), c.version) || tree.Text(o, "kind") != c.kind {
			continue
		}
		all = append(all, document{file: name, node: o, kind: c.kind, name: tree.Text(o, "metadata", "name")})
	}
	return all, nil
}
