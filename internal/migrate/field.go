// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// field is a place within an object, whether there is something or not.
type field struct {
	of    *object
	path  string
	key   string
	value any
	found bool
}

// plain is a key that a path shows without quotes.
var plain = regexp.MustCompile("^[A-Za-z0-9_-]+$")

func step(path, key string) string {
	switch {
	case !plain.MatchString(key):
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

// get is the field below. One that is known and holds nothing is read by that.
func (f field) get(key string) field {
	m, _ := f.value.(map[string]any)
	value, found := m[key]
	child := field{of: f.of, path: step(f.path, key), key: key, value: value, found: found}
	if found && empty(value) {
		child.done()
	}
	return child
}

// list is the items of a list.
func (f field) list() []field {
	items, _ := f.value.([]any)
	var all []field
	for i, v := range items {
		all = append(all, field{of: f.of, path: fmt.Sprintf("%s[%d]", f.path, i), value: v, found: true})
	}
	return all
}

// entries are the fields of a map, sorted.
func (f field) entries() []field {
	m, _ := f.value.(map[string]any)
	var all []field
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, field{of: f.of, path: step(f.path, k), key: k, value: m[k], found: true})
	}
	return all
}

// done counts the field and all below it as read.
func (f field) done() {
	if f.found {
		f.of.reads[f.path] = true
	}
}

// peek is a string that stays unread.
func (f field) peek() string {
	s, _ := f.value.(string)
	return s
}

// text reads a string. What is no string stays unread, here and below, and is noted.
func (f field) text() string {
	s, ok := f.value.(string)
	if ok {
		f.done()
	}
	return s
}

// flag reads a truth value.
func (f field) flag(otherwise bool) bool {
	b, ok := f.value.(bool)
	if !ok {
		return otherwise
	}
	f.done()
	return b
}

func (f field) number() (int64, bool) {
	n, ok := f.value.(int64)
	if ok {
		f.done()
	}
	return n, ok
}

// texts reads a list of strings, or of what can be written as one.
func (f field) texts() []string {
	var all []string
	for _, item := range f.list() {
		if s := item.text(); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// unless reads values that say what is so anyway, as false for a switch that Tenantry
// does not have.
func (f field) unless(values ...any) {
	if slices.Contains(values, f.scalar()) {
		f.done()
	}
}

// scalar is the value unless it can't be compared.
func (f field) scalar() any {
	switch f.value.(type) {
	case map[string]any, []any:
		return nil
	}
	return f.value
}

// into reads a map as a type of Go, and counts as read what the type kept.
func (f field) into(to any) error {
	m, ok := f.value.(map[string]any)
	if !ok {
		return fmt.Errorf("is not an object")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, to); err != nil {
		return err
	}
	text, err := json.Marshal(to)
	if err != nil {
		return err
	}
	var kept map[string]any
	if err := utiljson.Unmarshal(text, &kept); err != nil {
		return err
	}
	f.keep(kept)
	return nil
}

// keep counts as read what is in kept too.
func (f field) keep(kept any) {
	switch v := f.value.(type) {
	case map[string]any:
		k, _ := kept.(map[string]any)
		f.of.known[f.path] = true
		for _, child := range f.entries() {
			if below, ok := k[child.key]; ok {
				child.keep(below)
			} else if empty(child.value) {
				child.done()
			}
		}
		if len(v) == 0 {
			f.done()
		}
	case []any:
		k, _ := kept.([]any)
		for i, child := range f.list() {
			if i < len(k) {
				child.keep(k[i])
			}
		}
		if len(v) == 0 {
			f.done()
		}
	default:
		f.done()
	}
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// blank tells whether there is nothing, or nothing in it.
func (f field) blank() bool {
	return !f.found || empty(f.value) || strings.TrimSpace(f.peek()) == "" && f.scalar() == any("")
}
