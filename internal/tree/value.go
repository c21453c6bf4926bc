// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"math"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// ToValue is a document as maps, lists, texts, numbers and truths, as JSON would have it
// and with whole numbers as int64.
func ToValue(n *yaml.Node) (any, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	return jsonLike(v)
}

func jsonLike(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case map[string]any:
		for k, sub := range x {
			if x[k], err = jsonLike(sub); err != nil {
				return nil, err
			}
		}
		return x, nil
	case []any:
		for i, sub := range x {
			if x[i], err = jsonLike(sub); err != nil {
				return nil, err
			}
		}
		return x, nil
	case int:
		return int64(x), nil
	case uint64:
		return float64(x), nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%v is no number in JSON", x)
		}
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), nil // 1.0 is 1 there
		}
		return x, nil
	case time.Time:
		return x.Format(time.RFC3339Nano), nil
	case string, bool, nil, int64:
		return x, nil
	case map[any]any:
		return nil, fmt.Errorf("a key is no text")
	default:
		return nil, fmt.Errorf("%T is nothing that JSON has", v)
	}
}
