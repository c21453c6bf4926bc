// SPDX-License-Identifier: Apache-2.0

package diff

import "maps"

// mask stands for a value that is nobody's business.
const mask = "***"

// Masked is an object with the values of a Secret taken out; any other is itself.
func Masked(object map[string]any) map[string]any {
	if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
		return object
	}
	out := maps.Clone(object)
	for _, field := range []string{"data", "stringData"} {
		m, ok := out[field].(map[string]any)
		if !ok {
			continue
		}
		masked := map[string]any{}
		for k := range m {
			masked[k] = mask
		}
		out[field] = masked
	}
	if metadata, ok := out["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok && annotations[lastApplied] != nil {
			metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
			annotations[lastApplied] = mask
			metadata["annotations"], out["metadata"] = annotations, metadata
		}
	}
	return out
}

// lastApplied is the annotation in which kubectl keeps a whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
