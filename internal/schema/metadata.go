// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"
)

// names are how kinds hold theirs, where that is not as a DNS subdomain.
var names = map[string]apivalidation.ValidateNameFunc{
	"Namespace":          apivalidation.NameIsDNSLabel,
	"Service":            apivalidation.NameIsDNS1035Label,
	"Role":               pathSegment,
	"ClusterRole":        pathSegment,
	"RoleBinding":        pathSegment,
	"ClusterRoleBinding": pathSegment,
}

func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// checkMetadata holds names, labels and annotations to their rules.
func checkMetadata(minor string, k Kind, object map[string]any) []Problem {
	metadata, all := textual(object["metadata"])
	raw, err := json.Marshal(metadata)
	if err != nil {
		return []Problem{{Sort: Metadata, Path: []any{"metadata"}, What: "metadata: " + err.Error()}}
	}
	meta := metav1.ObjectMeta{}
	strict, err := kjson.UnmarshalStrict(raw, &meta)
	if err != nil {
		what := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "json: "), "Go struct field ObjectMeta.", "metadata.")
		return []Problem{{Sort: Metadata, Path: metadataPath(what), What: "metadata: " + what}}
	}
	for _, e := range strict {
		what := strings.TrimPrefix(e.Error(), "unknown field ")
		all = append(all, Problem{Sort: UnknownField, Path: append([]any{"metadata"}, Path(strings.Trim(what, `"`))...), What: "metadata." + strings.Trim(what, `"`) + " is no field of metadata"})
	}
	if k.Namespaced && meta.Namespace == "" {
		meta.Namespace = "default" // whether it has one is known to who applies it
	}
	nameFn := names[k.Kind]
	if nameFn == nil || k.Custom {
		nameFn = apivalidation.NameIsDNSSubdomain
	}
	if k.Kind == "Service" && minor != "1.34" && minor != "1.35" {
		nameFn = apivalidation.NameIsDNSLabel // it was stricter before 1.36
	}
	for _, e := range apivalidation.ValidateObjectMeta(&meta, k.Namespaced, nameFn, field.NewPath("metadata")) {
		p := problem(e, Metadata)
		if e.Type == field.ErrorTypeRequired && meta.Name == "" {
			p = Problem{Sort: Metadata, Path: []any{"metadata"}, What: "metadata.name is required"}
		}
		all = append(all, p)
	}
	return all
}

// textual is metadata with texts for labels and annotations that are something else, as
// YAML reads 1.0 and true, and a problem for each.
func textual(v any) (any, []Problem) {
	metadata, ok := v.(map[string]any)
	if !ok {
		return v, nil
	}
	var all []Problem
	out := maps.Clone(metadata)
	for _, field := range []string{"annotations", "labels"} {
		m, ok := metadata[field].(map[string]any)
		if !ok {
			continue
		}
		texts := maps.Clone(m)
		for k, v := range m {
			if _, ok := v.(string); !ok && v != nil {
				all = append(all, Problem{Sort: Metadata, Path: []any{"metadata", field, k}, What: fmt.Sprintf("metadata.%s[%s] is %v, and no text", field, k, v), Mend: "put it in quotes"})
				texts[k] = fmt.Sprint(v)
			}
		}
		out[field] = texts
	}
	return out, all
}

// metadataPath is the field of metadata that a decoder's message is about.
func metadataPath(message string) []any {
	for _, word := range strings.Fields(message) {
		if strings.HasPrefix(word, "metadata.") {
			return Path(word)
		}
	}
	return []any{"metadata"}
}
