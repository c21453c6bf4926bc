// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The schema that editors get has the fields that are read, and no others.
func TestTheSchemaHasTheFieldsThatAreRead(t *testing.T) {
	t.Parallel()
	var schema map[string]any
	if err := json.Unmarshal(Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var told, read []string
	var ofSchema func(path string, s map[string]any)
	ofSchema = func(path string, s map[string]any) {
		if items, ok := s["items"].(map[string]any); ok {
			s = items
		}
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			told = append(told, path+name)
			ofSchema(path+name+".", properties[name].(map[string]any))
		}
	}
	var ofType func(path string, typ reflect.Type)
	ofType = func(path string, typ reflect.Type) {
		if typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		for i := 0; typ.Kind() == reflect.Struct && i < typ.NumField(); i++ {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
			read = append(read, path+name)
			ofType(path+name+".", typ.Field(i).Type)
		}
	}
	ofSchema("", schema)
	ofType("", reflect.TypeFor[Config]())
	slices.Sort(told)
	slices.Sort(read)
	if diff := cmp.Diff(read, told); diff != "" {
		t.Error(diff)
	}
}
