// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/build"
)

// variableAt is where an object uses a variable.
func variableAt(o *build.Object, name string) build.Place {
	fields, problem := o.Fields()
	if problem != nil {
		return o.At()
	}
	if path := pathOf(fields, "${"+name); path != nil {
		at := o.Place(path...)
		if n := o.Scalar(path...); n != nil && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			before, _, _ := strings.Cut(n.Value, "${"+name)
			at.Line, at.Column = n.Line+1+strings.Count(before, "\n"), 0
		}
		return at
	}
	return o.At()
}

// pathOf is the path of the first text that has a word in it, also in a field's name.
func pathOf(v any, word string) []any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, word) {
			return []any{}
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if strings.Contains(k, word) {
				return []any{k}
			}
			if path := pathOf(v[k], word); path != nil {
				return append([]any{k}, path...)
			}
		}
	case []any:
		for i, sub := range v {
			if path := pathOf(sub, word); path != nil {
				return append([]any{i}, path...)
			}
		}
	}
	return nil
}
