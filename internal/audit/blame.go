// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/attack"
)

// allowedBy is what the authorizer of RBAC says of what it allows.
var allowedBy = regexp.MustCompile(`allowed by (ClusterRoleBinding|RoleBinding) "([^"]+)" of (ClusterRole|Role) "([^"]+)"`)

// Blame says, of an attack that got through, which object let it and how to mend that.
// findings are those of reading the cluster.
func Blame(f *Facts, findings []Finding, r attack.Result) Finding {
	found := Finding{
		ID: r.ID, Severity: Error, Tenant: r.Tenant, Wall: r.Wall,
		Message: r.Title + ": got through as " + r.As, Mend: r.Attack.Mend(),
	}
	if len(r.Reason) > 0 {
		found.Message += " " + r.Reason
	}
	name, rule, isRule := strings.Cut(r.Wall, "/")
	switch {
	case isRule:
		blamePolicy(f, findings, r, name, rule, &found)
	case r.Wall == attack.WallPodSecurity:
		found.Object = fmt.Sprintf("Namespace %s (pod-security.kubernetes.io/enforce: %q)", r.Namespace, f.label(r.Namespace, "pod-security.kubernetes.io/enforce"))
	case r.Wall == attack.WallQuota:
		found.Object = "ResourceQuota " + r.Namespace + "/tenantry"
	default:
		found.Object = granted(r.Grant)
	}
	return found
}

// granted is the binding and the role that the authorizer names.
func granted(reason string) string {
	m := allowedBy.FindStringSubmatch(reason)
	if m == nil {
		if reason == "" {
			return "the sum of what its bindings give"
		}
		return reason
	}
	return fmt.Sprintf("%s %s of %s %s", m[1], m[2], m[3], m[4])
}

func blamePolicy(f *Facts, findings []Finding, r attack.Result, name, rule string, found *Finding) {
	found.Object = "ValidatingAdmissionPolicy tenantry-" + name
	for _, other := range findings {
		if other.ID == "policies" && other.Severity == Error && (other.Wall == name || other.Wall == r.Wall) {
			found.Object = other.Object
			found.Message += "; " + other.Object + ": " + other.Message
			return
		}
	}
	switch {
	case r.Grant != "":
		found.Object = granted(r.Grant)
		found.Message += "; it holds the verb bypass, which exempts from policies"
		found.Mend = "remove the binding, or take the verb bypass out of its role"
	case r.Namespace != "" && f.label(r.Namespace, v1alpha1.TenantLabel) == "":
		found.Object = "Namespace " + r.Namespace
		found.Message += "; the namespace lost its label " + v1alpha1.TenantLabel
		found.Mend = "label the namespace again, and see that the controller runs"
	default:
		found.Message += "; the policy stands as installed and its rule " + rule + " lets this through on this version of Kubernetes"
		found.Mend = "update Tenantry, and report this"
	}
}

// label of a namespace.
func (f *Facts) label(namespace, key string) string {
	for i := range f.Namespaces {
		if f.Namespaces[i].Name == namespace {
			return f.Namespaces[i].Labels[key]
		}
	}
	return ""
}

// few names some of a list.
func few(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
