// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/tenantry/tenantry/internal/words"
)

// Sort tells problems apart.
type Sort string

// The sorts.
const (
	UnknownField Sort = "unknown-field"
	Missing      Sort = "missing"
	Invalid      Sort = "invalid"
	Metadata     Sort = "metadata"
	Rule         Sort = "rule"
)

// Problem is one thing that an API server would refuse.
type Problem struct {
	Sort Sort
	// Path of the field: names, and numbers of list entries from 0. Of one that is
	// missing, the object that lacks it.
	Path []any
	What string
	// Mend, where it can be told.
	Mend string
}

// Check is what is wrong with an object: nothing when its kind is not known. The object
// is as json.Unmarshal of apimachinery makes it, and is left as it is.
func (s *Set) Check(object map[string]any) ([]Problem, error) {
	gvk := gvkOf(object)
	c := s.checker(gvk)
	if c.err != nil {
		return nil, fmt.Errorf("schema of %s: %w", gvk.Kind, c.err)
	}
	if c.structural == nil {
		return nil, nil
	}
	all := checkMetadata(s.Minor, c.kind, object)
	object = runtime.DeepCopyJSON(object)
	delete(object, "status") // nobody declares it, and the API server passes over it
	if !c.kind.Custom {
		withoutNulls(object)
	}
	for _, path := range pruning.PruneWithOptions(object, c.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		all = append(all, c.unknown(path))
	}
	if c.kind.Custom {
		defaulting.PruneNonNullableNullsWithoutDefaults(object, c.structural)
		defaulting.Default(object, c.structural)
	}
	errs := validation.ValidateCustomResource(nil, object, c.fields)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, object)...)
	for _, e := range errs {
		all = append(all, problem(e, ""))
	}
	if c.rules != nil && len(errs) == 0 { // rules expect what the fields promise
		more, _ := c.rules.Validate(context.Background(), nil, c.structural, object, nil, celconfig.RuntimeCELCostBudget)
		for _, e := range more {
			all = append(all, problem(e, Rule))
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return strings.Compare(a.What, b.What) })
	return slices.CompactFunc(all, func(a, b Problem) bool { return a.What == b.What }), nil
}

func gvkOf(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// withoutNulls takes out fields that say nothing, as decoding into a type does.
func withoutNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, sub := range v {
			if sub == nil {
				delete(v, k)
			} else {
				withoutNulls(sub)
			}
		}
	case []any:
		for _, sub := range v {
			withoutNulls(sub)
		}
	}
}

// unknown is a field that the schema doesn't have, and the one that was probably meant.
func (c *checker) unknown(path string) Problem {
	at := Path(path)
	p := Problem{Sort: UnknownField, Path: at, What: path + " is no field of " + c.kind.Kind}
	if len(at) == 0 {
		return p
	}
	name, _ := at[len(at)-1].(string)
	parent := c.properties
	for _, step := range at[:len(at)-1] {
		switch key := step.(type) {
		case int:
			if parent.Items == nil || parent.Items.Schema == nil {
				return p
			}
			parent = parent.Items.Schema
		case string:
			if sub, ok := parent.Properties[key]; ok {
				parent = &sub
			} else if parent.AdditionalProperties != nil && parent.AdditionalProperties.Schema != nil {
				parent = parent.AdditionalProperties.Schema
			} else {
				return p
			}
		}
	}
	var names []string
	for n := range parent.Properties {
		names = append(names, n)
	}
	if near := words.Nearest(name, names); near != "" {
		p.Mend = "did you mean " + near + "?"
	}
	return p
}

// problem is what an API server says, in a line.
func problem(e *field.Error, sort Sort) Problem {
	if e.Field == "<nil>" { // how a path to the root is written
		e.Field = ""
	}
	p := Problem{Sort: sort, Path: Path(e.Field)}
	what := strings.TrimPrefix(e.ErrorBody(), "Invalid value: ")
	if i := strings.Index(e.Detail, ", regex used for validation is"); i >= 0 {
		e.Detail = e.Detail[:i] + ")"
	}
	if quantity.MatchString(e.Detail) {
		e.Detail = fmt.Sprintf("%v is no quantity, as 500m, 1.5, 2Gi or 10G are", e.BadValue)
	}
	switch e.Type {
	case field.ErrorTypeRequired:
		if sort == "" {
			p.Sort = Missing
		}
		what = e.Field + " is required"
		if e.Detail != "" {
			what = e.Field + ": " + e.Detail
		}
		if len(p.Path) > 0 && p.Sort == Missing {
			p.Path = p.Path[:len(p.Path)-1]
		}
	default:
		if detail := strings.TrimPrefix(e.Detail, e.Field+" in body "); detail != "" && (e.Type == field.ErrorTypeInvalid || e.Type == field.ErrorTypeTypeInvalid) {
			what = detail
		}
		if e.Field != "" {
			what = e.Field + ": " + what
		}
	}
	if p.Sort == "" {
		p.Sort = Invalid
	}
	if m := wrongType.FindStringSubmatch(what); m != nil {
		what = fmt.Sprintf("%s is of type %s, and has to be of type %s", e.Field, m[2], m[1])
		if m[1] == "string" {
			p.Mend = "put it in quotes"
		} else if m[2] == "string" {
			p.Mend = "take it out of the quotes"
		}
	}
	p.What = userinfo.ReplaceAllString(what, "://***@")
	return p
}

// wrongType matches what is said of a value of another type.
var wrongType = regexp.MustCompile(`must be of type (\w+): "(\w+)"$`)

// quantity matches what is said of a text that doesn't match a quantity's pattern.
var quantity = regexp.MustCompile(`should match '.*KMGTPE\]i.*numkMGTPE`)

// Path is a field's path in its parts: spec.list[0].name, or metadata.labels[a.b/c].
func Path(text string) []any {
	var all []any
	for len(text) > 0 {
		switch i := strings.IndexAny(text, ".["); {
		case text[0] == '.':
			text = text[1:]
		case text[0] == '[':
			end := strings.IndexByte(text, ']')
			if end < 0 {
				return append(all, text[1:])
			}
			inside := text[1:end]
			if n, err := strconv.Atoi(inside); err == nil {
				all = append(all, n)
			} else {
				all = append(all, strings.Trim(inside, `"`))
			}
			text = text[end+1:]
		case i < 0:
			return append(all, text)
		default:
			all = append(all, text[:i])
			text = text[i:]
		}
	}
	return all
}
