// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// draft is the dialect that editors understand.
const draft = "http://json-schema.org/draft-07/schema#"

// Document is the JSON schema of a kind, for editors.
func (s *Set) Document(gvk schema.GroupVersionKind) (map[string]any, error) {
	c := s.checker(gvk)
	if c.err != nil {
		return nil, c.err
	}
	if c.properties == nil {
		return nil, fmt.Errorf("%s of %s is not known", gvk.Kind, gvk.GroupVersion())
	}
	content, err := json.Marshal(c.properties)
	if err != nil {
		return nil, err
	}
	document := map[string]any{}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	plain(document)
	document["$schema"], document["title"] = draft, gvk.Kind
	properties, _ := document["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		document["properties"] = properties
	}
	properties["apiVersion"] = map[string]any{"type": "string", "const": gvk.GroupVersion().String()}
	properties["kind"] = map[string]any{"type": "string", "const": gvk.Kind}
	properties["metadata"] = map[string]any{"type": "object", "required": []any{"name"}, "properties": map[string]any{"name": map[string]any{"type": "string"}}}
	required, _ := document["required"].([]any)
	document["required"] = append([]any{"apiVersion", "kind", "metadata"}, required...)
	return document, nil
}

// plain makes of a structural schema one that says no more than JSON schema can, and
// refuses fields that it doesn't have.
func plain(s map[string]any) {
	if s["x-kubernetes-int-or-string"] == true {
		delete(s, "type")
		s["anyOf"] = []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}}
	}
	open := s["x-kubernetes-preserve-unknown-fields"] == true
	for k := range s {
		if len(k) > 2 && k[:2] == "x-" {
			delete(s, k)
		}
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		for _, p := range properties {
			if sub, ok := p.(map[string]any); ok {
				plain(sub)
			}
		}
		if _, told := s["additionalProperties"]; !told && !open {
			s["additionalProperties"] = false
		}
	}
	for _, k := range []string{"items", "additionalProperties"} {
		if sub, ok := s[k].(map[string]any); ok {
			plain(sub)
		}
	}
}
