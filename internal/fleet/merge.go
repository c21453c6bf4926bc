// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"

	"github.com/tenantry/tenantry/internal/tree"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// effective is an object with its patches, as JSON. Kustomize merges patches of
// custom resources as JSON merge patches do: mappings are merged, lists replaced.
func effective(t *tree.Tree, d document) ([]byte, error) {
	object, err := tree.ToJSON(d.node)
	if err != nil {
		return nil, tree.YAMLError(t.Full(d.file), err)
	}
	for _, p := range d.patches {
		content, err := tree.ToJSON(p.node)
		if err != nil {
			return nil, tree.YAMLError(t.Full(p.file), err)
		}
		if p.node.Kind == yaml.SequenceNode {
			operations, err := jsonpatch.DecodePatch(content)
			if err == nil {
				object, err = operations.Apply(object)
			}
			if err != nil {
				return nil, &tree.Error{File: t.Full(p.file), Line: p.line, What: fmt.Sprintf("this patch doesn't fit %s %s: %v", d.kind, d.name, err)}
			}
			continue
		}
		if object, err = jsonpatch.MergePatch(object, content); err != nil {
			return nil, &tree.Error{File: t.Full(p.file), Line: p.line, What: fmt.Sprintf("this patch doesn't fit %s %s: %v", d.kind, d.name, err)}
		}
	}
	return object, nil
}
