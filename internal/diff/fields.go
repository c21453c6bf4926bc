// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Fields are those in which two objects differ, as they may be shown. What admission
// policies read is left to Lists.
func Fields(before, after map[string]any, hidden ...string) []Field {
	var all []Field
	walk(&all, nil, before, after)
	secret := before["kind"] == "Secret" || after["kind"] == "Secret"
	for i := range all {
		f := &all[i]
		name := f.Path[strings.LastIndexAny(f.Path, ".[")+1:]
		if entry, ok := strings.CutSuffix(f.Path, "].value"); ok { // of an environment variable
			name = entry[strings.LastIndex(entry, "[")+1:]
		}
		top, _, _ := strings.Cut(f.Path, ".")
		top, _, _ = strings.Cut(top, "[")
		if secret && !slices.Contains(open, top) || private.MatchString(strings.TrimSuffix(name, "]")) {
			f.Before, f.After = hide(f.Before), hide(f.After)
			continue
		}
		f.Before, f.After = masked(f.Before, "", hidden), masked(f.After, "", hidden)
	}
	return slices.DeleteFunc(all, func(f Field) bool {
		return strings.HasPrefix(f.Path, "metadata.annotations["+v1alpha1.Group+"/") || strings.HasPrefix(f.Path, "metadata.annotations["+lastApplied)
	})
}

func walk(all *[]Field, path []string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			break
		}
		for _, k := range sorted(union(b, a)) {
			walk(all, append(path[:len(path):len(path)], step(path, k)), b[k], a[k])
		}
		return
	case []any:
		a, ok := after.([]any)
		if !ok {
			break
		}
		if walkNamed(all, path, b, a) {
			return
		}
		if len(a) == len(b) {
			for i := range b {
				walk(all, append(path[:len(path):len(path)], fmt.Sprintf("[%d]", i)), b[i], a[i])
			}
			return
		}
	}
	*all = append(*all, Field{Path: strings.Join(path, ""), Before: before, After: after})
}

// walkNamed compares lists of objects that have names by these.
func walkNamed(all *[]Field, path []string, before, after []any) bool {
	b, ok := named(before)
	if !ok {
		return false
	}
	a, ok := named(after)
	if !ok {
		return false
	}
	for _, name := range sorted(union(b, a)) {
		walk(all, append(path[:len(path):len(path)], "["+name+"]"), b[name], a[name])
	}
	return true
}

// named are the entries of a list by their names; false when not each has one of its own.
func named(list []any) (map[string]any, bool) {
	all := map[string]any{}
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, false
		}
		name, ok := m["name"].(string)
		if namespace, has := m["namespace"].(string); has && namespace != "" {
			name = namespace + "/" + name
		}
		if kind, has := m["kind"].(string); has {
			name = kind + " " + name
		}
		if !ok || all[name] != nil {
			return nil, false
		}
		all[name] = m
	}
	return all, true
}

// step is a field's name as it is written in a path.
func step(path []string, name string) string {
	if strings.ContainsAny(name, "./") {
		return "[" + name + "]"
	}
	if len(path) == 0 {
		return name
	}
	return "." + name
}

func union[T any](a, b map[string]T) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// without is what a list has and another has not.
func without(list, other []string) []string {
	var all []string
	for _, e := range list {
		if !slices.Contains(other, e) {
			all = append(all, e)
		}
	}
	return all
}

// text is a value in a line.
func text(v any) string {
	content, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(content)
}
