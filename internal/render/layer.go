// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/tenantry/tenantry/internal/build"
)

// objectsOf are the objects of a sync: its directory, and what the Kustomization itself
// says beside it.
func (s *Sync) objectsOf() ([]*build.Object, []build.Problem) {
	over := map[string]any{}
	put := func(name string, v any, is bool) {
		if is {
			over[name] = v
		}
	}
	put("namespace", s.Spec.TargetNamespace, s.Spec.TargetNamespace != "")
	put("namePrefix", s.Spec.NamePrefix, s.Spec.NamePrefix != "")
	put("nameSuffix", s.Spec.NameSuffix, s.Spec.NameSuffix != "")
	put("patches", s.Spec.Patches, len(s.Spec.Patches) > 0)
	put("images", s.Spec.Images, len(s.Spec.Images) > 0)
	var components []string
	for _, c := range s.Spec.Components {
		if s.Spec.IgnoreMissingComponents && !s.Builder.Exists(path.Join(s.Dir, c)) {
			continue
		}
		components = append(components, c)
	}
	put("components", components, len(components) > 0)
	r := s.Builder.With(s.Dir, over)
	m := s.Spec.CommonMetadata
	if m == nil || len(m.Labels)+len(m.Annotations) == 0 {
		return r.Objects, r.Problems
	}
	objects := make([]*build.Object, len(r.Objects)) // the others' are left as they are
	for i, o := range r.Objects {
		objects[i] = o.Marked(m.Labels, m.Annotations)
	}
	return objects, r.Problems
}

// maxReleaseName is what Helm takes.
const maxReleaseName = 53

// named is how helm-controller names what it installs, by default.
func named(targetNamespace, name string) string {
	full := strings.Trim(targetNamespace+"-"+name, "-")
	if len(full) <= maxReleaseName {
		return full
	}
	const prefix, digits = 40, 12
	sum := sha256.Sum256([]byte(full))
	return full[:prefix] + "-" + hex.EncodeToString(sum[:])[:digits]
}
