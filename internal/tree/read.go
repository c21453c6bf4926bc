// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"encoding/json"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// Field is what an object has at a path of names, or nil.
func Field(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var next *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				next = n.Content[i+1]
			}
		}
		n = next
	}
	return n
}

// Text is the scalar at a path of names, or "".
func Text(n *yaml.Node, names ...string) string {
	if n = Field(n, names...); n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Items are the entries of the list at a path of names.
func Items(n *yaml.Node, names ...string) []*yaml.Node {
	if n = Field(n, names...); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// KustomizationIn is the name of a directory's kustomization, or "".
func (t *Tree) KustomizationIn(dir string) string {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if file := path.Join(dir, name); t.IsFile(file) {
			return file
		}
	}
	return ""
}

// IsYAML tells a YAML file by its name.
func IsYAML(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// Flattened are documents, and the items of those that are lists of objects.
func Flattened(documents []*yaml.Node) []*yaml.Node {
	var all []*yaml.Node
	for _, d := range documents {
		if items := Field(d, "items"); strings.HasSuffix(Text(d, "kind"), "List") && items != nil && items.Kind == yaml.SequenceNode {
			all = append(all, Items(d, "items")...)
		} else {
			all = append(all, d)
		}
	}
	return all
}

// ToJSON is a document as JSON.
func ToJSON(n *yaml.Node) ([]byte, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// ToNode is an API object, or a part of one, as YAML to be edited.
func ToNode(v any) (*yaml.Node, error) {
	content, err := sigsyaml.Marshal(v)
	if err != nil {
		return nil, err
	}
	n, err := yaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	return n.YNode(), nil
}

// IsRemote tells whether a kustomization would have to fetch a resource.
func IsRemote(resource string) bool {
	return strings.Contains(resource, "://") || strings.Contains(resource, "?ref=") || strings.HasPrefix(resource, "git@") || strings.HasPrefix(resource, "github.com/")
}
