// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/attack"
)

// ownBinding is what the authorizer says of a RoleBinding: its name, then its namespace.
var ownBinding = regexp.MustCompile(`allowed by RoleBinding "([^"/]+)/([^"]+)"`)

// Meant says why an attack that got through was let through on purpose, or "": by a rule
// that Tenantry was installed to only warn of, or by a binding that the tenant itself made
// for its editors, viewers or Pods.
func Meant(f *Facts, r attack.Result) string {
	if slices.Contains(f.audited(), r.Wall) {
		return "Tenantry was installed with --audit " + r.Wall
	}
	m := ownBinding.FindStringSubmatch(r.Grant)
	if m == nil || !slices.Contains([]attack.Identity{attack.AsWorkload, attack.AsEditor, attack.AsViewer}, r.Attack.As) || f.tenantOf(m[2]) != r.Tenant {
		return ""
	}
	for _, b := range f.RoleBindings {
		if b.Name == m[1] && b.Namespace == m[2] && b.Labels[v1alpha1.ManagedLabel] == "" {
			return "the tenant gave it by its own RoleBinding " + strings.Join([]string{b.Namespace, b.Name}, "/")
		}
	}
	return ""
}
