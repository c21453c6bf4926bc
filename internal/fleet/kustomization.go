// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"path"
	"slices"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// register puts a resource into a directory's kustomization, and patches of it.
func register(t *tree.Tree, dir, resource string, patches ...string) error {
	file := t.KustomizationIn(dir)
	if file == "" {
		return &tree.Error{File: t.Full(dir), What: "it has no kustomization.yaml"}
	}
	return t.Edit(file, 0, func(k *yaml.Node) error {
		if resource != "" && !slices.ContainsFunc(tree.Items(k, "resources"), leadsTo(dir, path.Join(dir, resource))) {
			if err := tree.Add(k, resource, "resources"); err != nil {
				return err
			}
		}
		for _, p := range patches {
			if err := addPatch(k, p, ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// leadsTo matches an entry of a kustomization by where it leads, however that is written.
func leadsTo(dir, target string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool {
		name := n.Value
		if n.Kind == yaml.MappingNode {
			name = tree.Text(n, "path")
		}
		return name != "" && path.Join(dir, name) == target
	}
}

// addPatch puts the file of a patch into a kustomization, for all objects of a kind or
// for the one that it names itself.
func addPatch(k *yaml.Node, name, kind string) error {
	if slices.ContainsFunc(tree.Items(k, "patches"), leadsTo("", name)) {
		return nil
	}
	list, err := tree.ListIn(k, true, "patches")
	if err != nil {
		return err
	}
	entry, err := tree.ToNode(map[string]any{"path": name})
	if kind != "" && err == nil {
		entry, err = tree.ToNode(map[string]any{"path": name, "target": map[string]any{"kind": kind}})
	}
	if err != nil {
		return err
	}
	list.Content = append(list.Content, entry)
	tree.Unfold(list)
	return nil
}

// unregister takes what leads to a path of the fleet out of a directory's
// kustomization: a resource, or a patch.
func unregister(t *tree.Tree, dir, target string) (bool, error) {
	file := t.KustomizationIn(dir)
	if file == "" {
		return false, nil
	}
	if documents, err := t.Documents(file); err != nil || len(documents) == 0 {
		return false, err
	}
	found := false
	err := t.Edit(file, 0, func(k *yaml.Node) error {
		for _, list := range []struct {
			name string
			keep bool
		}{{"resources", true}, {"patches", false}, {"patchesStrategicMerge", false}} {
			gone, err := tree.Drop(k, list.keep, leadsTo(dir, target), list.name)
			if err != nil {
				return err
			}
			found = found || gone
		}
		return nil
	})
	return found, err
}
