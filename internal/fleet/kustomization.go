// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"path"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// register puts a resource into a directory's kustomization, and patches of it.
func (t *tree) register(dir, resource string, patches ...string) error {
	file := t.kustomizationIn(dir)
	if file == "" {
		return &Error{File: t.full(dir), What: "it has no kustomization.yaml"}
	}
	return t.edit(file, 0, func(k *yaml.RNode) error {
		if resource != "" {
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

// addPatch puts the file of a patch into a kustomization, for all objects of a kind or
// for the one that it names itself.
func addPatch(k *yaml.RNode, name, kind string) error {
	for _, p := range items(k.YNode(), "patches") {
		if text(p, "path") == name {
			return nil
		}
	}
	list, err := k.Pipe(yaml.LookupCreate(yaml.SequenceNode, "patches"))
	if err != nil {
		return err
	}
	content := "path: " + name
	if kind != "" {
		content += fmt.Sprintf("\ntarget:\n  kind: %s", kind)
	}
	entry, err := yaml.Parse(content)
	if err != nil {
		return err
	}
	n := list.YNode()
	n.Content = append(n.Content, entry.YNode())
	unfold(n)
	return nil
}

// unregister takes what leads to a path of the fleet out of a directory's
// kustomization: a resource, or a patch.
func (t *tree) unregister(dir, target string) (bool, error) {
	file := t.kustomizationIn(dir)
	if file == "" {
		return false, nil
	}
	leads := func(name string) bool { return name != "" && path.Join(dir, name) == target }
	found := false
	err := t.edit(file, 0, func(k *yaml.RNode) error {
		for _, list := range []struct {
			name string
			keep bool
		}{{"resources", true}, {"patches", false}, {"patchesStrategicMerge", false}} {
			gone, err := drop(k, list.keep, func(n *yaml.Node) bool { return leads(n.Value) || leads(text(n, "path")) }, list.name)
			if err != nil {
				return err
			}
			found = found || gone
		}
		return nil
	})
	return found, err
}
