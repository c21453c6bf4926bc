// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// effective is an object with its patches, as JSON. Kustomize merges patches of
// custom resources as JSON merge patches do: mappings are merged, lists replaced.
func (t *tree) effective(d document) ([]byte, error) {
	object, err := toJSON(d.node)
	if err != nil {
		return nil, yamlError(t.full(d.file), err)
	}
	for _, p := range d.patches {
		content, err := toJSON(p.node)
		if err != nil {
			return nil, yamlError(t.full(p.file), err)
		}
		if p.node.Kind == yaml.SequenceNode {
			operations, err := jsonpatch.DecodePatch(content)
			if err == nil {
				object, err = operations.Apply(object)
			}
			if err != nil {
				return nil, &Error{File: t.full(p.file), Line: p.line, What: fmt.Sprintf("this patch doesn't fit %s %s: %v", d.kind, d.name, err)}
			}
			continue
		}
		if object, err = jsonpatch.MergePatch(object, content); err != nil {
			return nil, &Error{File: t.full(p.file), Line: p.line, What: fmt.Sprintf("this patch doesn't fit %s %s: %v", d.kind, d.name, err)}
		}
	}
	return object, nil
}

func toJSON(n *yaml.Node) ([]byte, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// toNode is an API object, or a part of one, as YAML to be edited.
func toNode(v any) (*yaml.Node, error) {
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
