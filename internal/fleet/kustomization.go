// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"path"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// register puts a resource into a directory's kustomization, and patches of it.
func (t *tree) register(dir, resource string, patches ...string) error {
	file := t.kustomizationIn(dir)
	if file == "" {
		return &Error{File: t.full(dir), What: "it has no kustomization.yaml"}
	}
	return t.edit(file, 0, func(k *yaml.Node) error {
		if resource != "" && !slices.ContainsFunc(items(k, "resources"), leadsTo(dir, path.Join(dir, resource))) {
			if err := add(k, resource, "resources"); err != nil {
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
			name = text(n, "path")
		}
		return name != "" && path.Join(dir, name) == target
	}
}

// addPatch puts the file of a patch into a kustomization, for all objects of a kind or
// for the one that it names itself.
func addPatch(k *yaml.Node, name, kind string) error {
	if slices.ContainsFunc(items(k, "patches"), leadsTo("", name)) {
		return nil
	}
	list, err := listIn(k, true, "patches")
	if err != nil {
		return err
	}
	entry, err := toNode(map[string]any{"path": name})
	if kind != "" && err == nil {
		entry, err = toNode(map[string]any{"path": name, "target": map[string]any{"kind": kind}})
	}
	if err != nil {
		return err
	}
	list.Content = append(list.Content, entry)
	unfold(list)
	return nil
}

// unregister takes what leads to a path of the fleet out of a directory's
// kustomization: a resource, or a patch.
func (t *tree) unregister(dir, target string) (bool, error) {
	file := t.kustomizationIn(dir)
	if file == "" {
		return false, nil
	}
	if documents, err := t.documents(file); err != nil || len(documents) == 0 {
		return false, err
	}
	found := false
	err := t.edit(file, 0, func(k *yaml.Node) error {
		for _, list := range []struct {
			name string
			keep bool
		}{{"resources", true}, {"patches", false}, {"patchesStrategicMerge", false}} {
			gone, err := drop(k, list.keep, leadsTo(dir, target), list.name)
			if err != nil {
				return err
			}
			found = found || gone
		}
		return nil
	})
	return found, err
}
