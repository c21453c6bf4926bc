// SPDX-License-Identifier: Apache-2.0

package build

import "k8s.io/apimachinery/pkg/runtime"

// Merged is what is there with what is applied over it.
func Merged(old, applied map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(old)
	merge(out, applied)
	return out
}

func merge(into, from map[string]any) {
	for k, v := range from {
		inner, ok := v.(map[string]any)
		if there, both := into[k].(map[string]any); ok && both {
			merge(there, inner)
		} else {
			into[k] = runtime.DeepCopyJSONValue(v)
		}
	}
}
