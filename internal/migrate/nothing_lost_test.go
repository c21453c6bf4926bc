// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tenantry/tenantry/internal/migrate"
)

const unknown = "zzUnknown"

// TestAnUnknownLeafIsNotedWhereverItIs puts a leaf that nobody knows into every map of
// every document. Each time one note more names it; or it is carried over; or a note that
// was there before is about all that is around it. Where that is so is in a golden file,
// so that a field which swallows what is in it does not come unseen.
func TestAnUnknownLeafIsNotedWhereverItIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"capsule/maximal", "flux/overlays", "tmc/workspaces", "tmc/chart"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, _, _ := strings.Cut(name, "/")
			docs := read(t, "testdata/"+name+".in.yaml")
			before, err := importers[tool](docs)
			if err != nil {
				t.Fatal(err)
			}
			covered := map[string]bool{}
			for i := range docs {
				for _, path := range inner(docs[i].Object, nil) {
					if ignored(path) {
						continue
					}
					changed := slices.Clone(docs)
					changed[i].Object = plant(t, docs[i].Object, path)
					after, err := importers[tool](changed)
					if err != nil {
						t.Fatalf("%s %v: %v", docs[i].Place, path, err)
					}
					for _, p := range accounted(t, docs[i], path, before, after) {
						covered[p] = true
					}
				}
			}
			golden(t, name+".covered.txt", covered)
		})
	}
}

// ignored is what an API server writes.
func ignored(path []any) bool {
	return len(path) > 0 && path[0] == "status" || len(path) > 1 && path[1] == "managedFields"
}

// inner are the paths of all maps within a value.
func inner(v any, at []any) [][]any {
	var all [][]any
	switch v := v.(type) {
	case map[string]any:
		all = append(all, slices.Clone(at))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, inner(v[k], append(slices.Clone(at), k))...)
		}
	case []any:
		for i, child := range v {
			all = append(all, inner(child, append(slices.Clone(at), i))...)
		}
	}
	return all
}

// plant is a copy of an object with one leaf more.
func plant(t *testing.T, object map[string]any, path []any) map[string]any {
	t.Helper()
	out := copied(t, object)
	at(out, path).(map[string]any)[unknown] = "leaf"
	return out
}

// accounted fails the test for a leaf that is lost silently. It returns the place around
// it that a note is about, if that is how it is accounted for.
func accounted(t *testing.T, d migrate.Document, path []any, before, after migrate.Result) []string {
	t.Helper()
	where := written(path)
	text, err := json.Marshal(after.Tenants)
	if err != nil {
		t.Fatal(err)
	}
	fresh, gone := slices.Clone(after.Notes), 0
	for _, n := range before.Notes {
		if at := slices.Index(fresh, n); at >= 0 {
			fresh = slices.Delete(fresh, at, at+1)
		} else {
			gone++
		}
	}
	around := slices.ContainsFunc(after.Notes, func(n migrate.Note) bool { return about(n, d, where) })
	switch {
	case len(fresh) == 1 && gone == 0 && (strings.Contains(fresh[0].Field, unknown) || fresh[0].Field == where):
		return nil
	case strings.Contains(string(text), unknown):
		return []string{"carried over: " + where}
	case !around:
		t.Errorf("%s: %s.%s is lost silently", d.Place, where, unknown)
	}
	return []string{strings.TrimSpace(fmt.Sprintf("%s %v: %s", d.Place, d.Object["kind"], where))}
}

// about tells whether a note is about a place that has the leaf, or about the object that
// is left out as it is not the same everywhere.
func about(n migrate.Note, d migrate.Document, where string) bool {
	meta, _ := d.Object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if name != "" && strings.Contains(n.What, name+" is so in") {
		return true
	}
	return strings.Contains(n.Place, d.Place) && (n.Field == "" || strings.HasPrefix(where, n.Field))
}

// written is a path as notes write it.
func written(path []any) string {
	out := ""
	for _, p := range path {
		switch p := p.(type) {
		case int:
			out += fmt.Sprintf("[%d]", p)
		case string:
			if strings.ContainsAny(p, "./") {
				out += fmt.Sprintf("[%q]", p)
			} else {
				out += "." + p
			}
		}
	}
	return strings.TrimPrefix(out, ".")
}
