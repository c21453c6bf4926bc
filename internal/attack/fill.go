// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// missing says that a scene lacks something that an attack needs.
type missing struct{ why string }

func (m missing) Error() string { return m.why }

var reference = regexp.MustCompile(`\$[A-Z]+`)

// value is a value of the scene.
func (s Scene) value(name string) (any, error) {
	v, ok := s.Values[name]
	if ok {
		return v, nil
	}
	if why := s.Missing[name]; why != "" {
		return nil, missing{why}
	}
	return nil, fmt.Errorf("a scene has no value $%s", name)
}

// text fills what a string leaves open.
func (s Scene) text(in string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(in, func(ref string) string {
		v, err := s.value(ref[1:])
		if err != nil {
			failed = err
			return ref
		}
		return fmt.Sprint(v)
	})
	return out, failed
}

// fill returns a copy of a manifest, or of a part, with all that it leaves open filled.
// A string that is one reference becomes the value, whatever its type; nil takes the
// field out.
func (s Scene) fill(in any) (any, error) {
	switch in := in.(type) {
	case map[string]any:
		out := make(map[string]any, len(in))
		for _, k := range slices.Sorted(maps.Keys(in)) {
			v, err := s.fill(in[k])
			if err != nil {
				return nil, err
			}
			key, err := s.text(k)
			if err != nil {
				return nil, err
			}
			if ref, ok := in[k].(string); ok && v == nil && reference.MatchString(ref) {
				continue
			}
			out[key] = v
		}
		return out, nil
	case []any:
		out := make([]any, len(in))
		for i := range in {
			v, err := s.fill(in[i])
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	case string:
		if reference.FindString(in) == in && in != "" {
			return s.value(in[1:])
		}
		return s.text(in)
	default:
		return in, nil
	}
}

// merge lays one map over another, as a JSON merge patch does.
func merge(base, over map[string]any) {
	for k, v := range over {
		into, isMap := base[k].(map[string]any)
		from, fromMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(base, k)
		case isMap && fromMap:
			merge(into, from)
		default:
			base[k] = v
		}
	}
}

// quantity is a whole number as Kubernetes writes amounts.
func quantity(n int64) string { return strconv.FormatInt(n, 10) }
