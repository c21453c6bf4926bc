// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// odd are values that nobody expects anywhere.
var odd = []any{
	nil, "", "x", "UPPER_case", "-dash", "system:masters", "kube-system", "a/b@c", "../..", "1e999999", "65h7ns",
	strings.Repeat("long", 200), float64(-1), 1e20, true, []any{}, []any{"x", "x", ""}, []any{map[string]any{"name": "x"}}, map[string]any{"x": "y"},
}

// few is how many of them each place gets.
const few = 3

// TestOddValuesMakeNoTenantThatIsRefused puts each odd value in the place of every value
// of every document: no importer panics, and what comes out the API server takes.
func TestOddValuesMakeNoTenantThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"capsule/maximal", "flux/overlays", "flux/one-cluster", "tmc/workspaces", "tmc/chart"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, _, _ := strings.Cut(name, "/")
			all := read(t, "testdata/"+name+".in.yaml")
			for i := range all {
				was := all[i].Object
				for n, put := range places(was) {
					// Some for each place, so that all are tried and the test is quick.
					for j := range few {
						value := odd[(n*few+j)%len(odd)]
						all[i].Object = copied(t, was)
						path := put(all[i].Object, value)
						r, err := importers[tool](all)
						if err != nil {
							continue
						}
						before := t.Failed()
						refusals(t, r)
						if t.Failed() && !before {
							t.Errorf("with %.60s at %s of %s", fmt.Sprint(value), path, all[i].Place)
						}
					}
				}
				all[i].Object = was
			}
		})
	}
}

func copied(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// places are functions that put a value where one is, in a copy, and tell where.
func places(object map[string]any) []func(map[string]any, any) string {
	var all []func(map[string]any, any) string
	for _, path := range inner(object, nil) {
		for _, key := range slices.Sorted(maps.Keys(at(object, path).(map[string]any))) {
			all = append(all, func(in map[string]any, value any) string {
				at(in, path).(map[string]any)[key] = value
				return written(append(path, key))
			})
		}
	}
	return all
}

func at(v any, path []any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			v = v.(map[string]any)[p]
		case int:
			v = v.([]any)[p]
		}
	}
	return v
}
