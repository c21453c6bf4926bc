// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/build"
)

// substituteMark is the label or annotation of objects that keep their variables.
const substituteMark = "kustomize.toolkit.fluxcd.io/substitute"

// hidden stands for the value of a variable that is encrypted.
const hidden = "encrypted"

// variables are what a sync substitutes, as Flux puts them together.
func (r *renderer) variables(s *Sync) {
	if s.Spec.PostBuild == nil {
		return
	}
	s.Vars = map[string]string{}
	for i, ref := range s.Spec.PostBuild.SubstituteFrom {
		o := r.cluster.Get(build.ID{GroupVersionKind: corev1.SchemeGroupVersion.WithKind(ref.Kind), Namespace: s.ID.Namespace, Name: ref.Name})
		if o == nil {
			s.AllVars = false
			if !ref.Optional {
				r.cluster.Problems = append(r.cluster.Problems, build.Problem{
					Rule: "dangling-variables", Place: s.At("spec", "postBuild", "substituteFrom", i, "name"),
					What: fmt.Sprintf("%s %s/%s, which variables come from, is not in the fleet", ref.Kind, s.ID.Namespace, ref.Name),
					Mend: "add it to what this cluster applies before, or say optional: true when something else makes it",
				})
			}
			continue
		}
		values := valuesOf(o.Fields)
		maps.Copy(s.Vars, values)
		if ref.Kind == "Secret" {
			for _, v := range values {
				if v != "" && v != hidden {
					s.Secrets = append(s.Secrets, v)
				}
			}
			slices.Sort(s.Secrets)
		}
	}
	for name, value := range s.Spec.PostBuild.Substitute {
		if !variable.MatchString(name) {
			r.problem(build.Problem{Rule: "variables", Place: s.At("spec", "postBuild", "substitute", name), What: name + " is no name of a variable", Mend: "use letters, digits and _ alone, a digit not first"})
			continue
		}
		s.Vars[name] = strings.ReplaceAll(value, "\n", "")
	}
}

// valuesOf are those of a ConfigMap or a Secret.
func valuesOf(fields map[string]any) map[string]string {
	all := map[string]string{}
	put := func(field string, encoded bool) {
		m, _ := fields[field].(map[string]any)
		for k, v := range m {
			text, _ := v.(string)
			switch {
			case strings.HasPrefix(text, "ENC["):
				text = hidden
			case encoded:
				if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
					text = string(raw)
				}
			}
			all[k] = strings.ReplaceAll(text, "\n", "")
		}
	}
	put("data", fields["kind"] == "Secret")
	put("stringData", false)
	return all
}

// variable is what Flux takes for the name of one.
var variable = regexp.MustCompile(`^[_A-Za-z][_A-Za-z0-9]*$`)

// reference is a variable in a text: its name, and what follows it within the braces.
var reference = regexp.MustCompile(`(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)([^}]*)\}`)

// substituted puts a sync's variables into an object.
func (s *Sync) substituted(o *build.Object, fields map[string]any) (map[string]any, *build.Problem) {
	if len(s.Vars) == 0 || kept(fields) {
		return fields, nil
	}
	content, err := yaml.Marshal(fields)
	if err != nil {
		return nil, &build.Problem{Rule: "variables", Place: o.At(), What: err.Error()}
	}
	if !strings.Contains(string(content), "$") {
		return fields, nil
	}
	if len(s.Unset(o)) > 0 {
		return fields, nil // what it would become without them is nothing to go by
	}
	text, err := envsubst.Eval(string(content), func(name string) (string, bool) { return s.Vars[name], true })
	if err == nil {
		if content, err = yaml.YAMLToJSON([]byte(text)); err == nil {
			out := map[string]any{}
			if err = json.Unmarshal(content, &out); err == nil {
				return out, nil
			}
		}
	}
	return nil, &build.Problem{Rule: "variables", Place: o.At(), What: fmt.Sprintf("variables can't be put into %s: %s", o.ID, strings.Join(strings.Fields(err.Error()), " ")), Mend: "write $${NAME} where no variable is meant, or quote the value"}
}

func kept(fields map[string]any) bool {
	return build.Text(fields, "metadata", "labels", substituteMark) == "disabled" || build.Text(fields, "metadata", "annotations", substituteMark) == "disabled"
}

// Unset are the variables that an object uses and its sync has no value for. One with a
// default is none of them.
func (s *Sync) Unset(o *build.Object) []string {
	if len(s.Vars) == 0 || !s.AllVars {
		return nil
	}
	fields, problem := o.Fields()
	if problem != nil || kept(fields) {
		return nil
	}
	content, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for _, m := range reference.FindAllStringSubmatch(string(content), -1) {
		_, set := s.Vars[m[2]]
		if m[1] == "" && !set && (m[3] == "" || strings.ContainsRune("#%/:^,=+?", rune(m[3][0]))) && !strings.HasPrefix(m[3], ":-") && !strings.HasPrefix(m[3], "-") && !strings.HasPrefix(m[3], ":=") && !strings.HasPrefix(m[3], "=") {
			names[m[2]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
