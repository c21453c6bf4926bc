// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"github.com/tenantry/tenantry/internal/build"
)

// layered puts on objects what a Kustomization itself says, beside its directory.
func (r *renderer) layered(s *Sync, objects []*build.Object) ([]*build.Object, []build.Problem) {
	k := map[string]any{}
	put := func(name string, v any, is bool) {
		if is {
			k[name] = v
		}
	}
	put("namespace", s.Spec.TargetNamespace, s.Spec.TargetNamespace != "")
	put("namePrefix", s.Spec.NamePrefix, s.Spec.NamePrefix != "")
	put("nameSuffix", s.Spec.NameSuffix, s.Spec.NameSuffix != "")
	put("patches", s.Spec.Patches, len(s.Spec.Patches) > 0)
	put("images", s.Spec.Images, len(s.Spec.Images) > 0)
	var problems []build.Problem
	for i, c := range s.Spec.Components {
		added, more := s.Builder.Component(objects, s.Dir, c, s.At("spec", "components", i))
		objects, problems = added, append(problems, more...)
	}
	if len(k) > 0 {
		var problem *build.Problem
		if objects, problem = build.Layer(objects, k, s.At("spec")); problem != nil {
			return nil, []build.Problem{*problem}
		}
	}
	if m := s.Spec.CommonMetadata; m != nil && len(m.Labels)+len(m.Annotations) > 0 {
		for i, o := range objects {
			objects[i] = o.Marked(m.Labels, m.Annotations)
		}
	}
	return objects, problems
}

// named is how Helm names what it installs, by default.
func named(targetNamespace, name string) string {
	return strings.Trim(targetNamespace+"-"+name, "-")
}
