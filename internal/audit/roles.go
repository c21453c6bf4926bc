// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// roles compares the constant ClusterRoles with those of this version. Aggregated ones
// have no rules of their own.
func roles(f *Facts) []Finding {
	var all []Finding
	for _, want := range expected[rbacv1.ClusterRole](f, "ClusterRole") {
		object := "ClusterRole " + want.Name
		live := f.clusterRole(want.Name)
		switch {
		case live == nil:
			all = append(all, Finding{Severity: Warning, Wall: "rbac", Object: object, Message: "is not there", Mend: "run tenantry install"})
		case !equality.Semantic.DeepEqual(live.AggregationRule, want.AggregationRule),
			want.AggregationRule == nil && !equality.Semantic.DeepEqual(live.Rules, want.Rules):
			all = append(all, Finding{Severity: Error, Wall: "rbac", Object: object, Message: "is not as this version of Tenantry writes it", Mend: "run tenantry install, and add rights by a ClusterRole of your own with the label tenantry.dev/aggregate-to-<role>"})
		}
	}
	return all
}

func (f *Facts) clusterRole(name string) *rbacv1.ClusterRole {
	for i := range f.ClusterRoles {
		if f.ClusterRoles[i].Name == name {
			return &f.ClusterRoles[i]
		}
	}
	return nil
}

const aggregatePrefix = v1alpha1.Group + "/aggregate-to-"

// aggregated looks at roles that others aggregate into Tenantry's.
func aggregated(f *Facts) []Finding {
	own := map[string]bool{}
	for _, want := range expected[rbacv1.ClusterRole](f, "ClusterRole") {
		own[want.Name] = true
	}
	var all []Finding
	for i := range f.ClusterRoles {
		r := &f.ClusterRoles[i]
		into := aggregatesTo(r)
		if own[r.Name] || len(into) == 0 {
			continue
		}
		finding := Finding{
			Severity: Info, Wall: "rbac", Object: "ClusterRole " + r.Name,
			Message: "gives " + strings.Join(into, ", ") + " further rights: " + sum(r.Rules),
			Mend:    "see that its resources are as safe in a tenant's hands as their operator is",
		}
		rules := r.Rules
		if slices.Equal(into, []string{"tenantry:controller"}) {
			// How a platform lets tenants have a role of its own.
			rules = slices.DeleteFunc(slices.Clone(rules), func(r rbacv1.PolicyRule) bool {
				return slices.Equal(r.Verbs, []string{"bind"}) && len(r.ResourceNames) > 0 && !slices.ContainsFunc(r.ResourceNames, tooMuch)
			})
		}
		if why := dangers(rules); len(why) > 0 {
			finding.Severity = Error
			finding.Message = "gives " + strings.Join(into, ", ") + " what breaks out of a tenant: " + strings.Join(why, "; ")
			finding.Mend = "take this out of the role, or its label " + aggregatePrefix + into[0][len("tenantry:"):]
		}
		all = append(all, finding)
	}
	return all
}

// tooMuch are roles that no tenant may be bound to.
func tooMuch(role string) bool {
	return slices.Contains([]string{"cluster-admin", "admin", "edit"}, role) || strings.HasPrefix(role, "system:") || strings.HasPrefix(role, "tenantry:")
}

func aggregatesTo(r *rbacv1.ClusterRole) []string {
	var all []string
	for _, role := range []string{"view", "edit", "admin", "controller"} {
		if r.Labels[aggregatePrefix+role] == "true" {
			all = append(all, "tenantry:"+role)
		}
	}
	return all
}

// sum is what rules are about, in a line.
func sum(rules []rbacv1.PolicyRule) string {
	var all []string
	for _, r := range rules {
		for _, g := range r.APIGroups {
			for _, res := range r.Resources {
				all = append(all, strings.TrimSuffix(res+"."+g, "."))
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	const most = 8
	if len(all) > most {
		all = append(all[:most], "...")
	}
	return strings.Join(all, ", ")
}

// dangers are what rules hold that reaches beyond the objects of an application.
func dangers(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, r := range rules {
		for _, d := range dangerous {
			if hits(r.APIGroups, d.group) && hitsResource(r.Resources, d.resource) && slices.ContainsFunc(d.verbs, func(v string) bool { return hits(r.Verbs, v) }) {
				all = append(all, d.why)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// dangerous are rights that no application needs in its namespaces. From Kubernetes' own
// good practices for RBAC, and what Tenantry's walls rest on.
var dangerous = []struct {
	group, resource string
	verbs           []string
	why             string
}{
	{"", "serviceaccounts", []string{"impersonate"}, "acts as accounts"},
	{"", "users", []string{"impersonate"}, "acts as users"},
	{"", "groups", []string{"impersonate"}, "acts as groups"},
	{"", "serviceaccounts/token", []string{"create"}, "takes tokens of accounts"},
	{"rbac.authorization.k8s.io", "roles", []string{"escalate", "bind"}, "gives rights that it has not"},
	{"rbac.authorization.k8s.io", "clusterroles", []string{"escalate", "bind", "create", "update", "patch"}, "gives rights that it has not"},
	{"rbac.authorization.k8s.io", "clusterrolebindings", []string{"create", "update", "patch"}, "binds on the whole cluster"},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies", []string{"create", "update", "patch", "delete"}, "changes the walls"},
	{"admissionregistration.k8s.io", "validatingwebhookconfigurations", []string{"create", "update", "patch"}, "sees everybody's writes"},
	{"admissionregistration.k8s.io", "mutatingwebhookconfigurations", []string{"create", "update", "patch"}, "changes everybody's writes"},
	{"apiextensions.k8s.io", "customresourcedefinitions", []string{"create", "update", "patch", "delete"}, "changes APIs"},
	{"certificates.k8s.io", "certificatesigningrequests/approval", []string{"update", "patch"}, "approves certificates"},
	{"", "nodes/proxy", []string{"get", "create"}, "reaches kubelets"},
	{"", "nodes", []string{"create", "update", "patch", "delete"}, "changes nodes"},
	{"", "persistentvolumes", []string{"create", "update", "patch"}, "makes volumes of nodes' files"},
	{"", "resourcequotas", []string{"create", "update", "patch", "delete"}, "changes quotas"},
	{"", "namespaces/status", []string{"update", "patch"}, "changes namespaces past their walls"},
	{"", "namespaces/finalize", []string{"update"}, "changes namespaces past their walls"},
	{"source.toolkit.fluxcd.io", "gitrepositories/status", []string{"update", "patch"}, "says what a source holds"},
	{"source.toolkit.fluxcd.io", "ocirepositories/status", []string{"update", "patch"}, "says what a source holds"},
	{v1alpha1.Group, "tenants", []string{v1alpha1.VerbBypass}, "bypasses the policies"},
	{v1alpha1.Group, "tenants", []string{v1alpha1.VerbReconcile}, "passes for Flux"},
	{v1alpha1.Group, "tenants", []string{"create", "update", "patch"}, "writes Tenants"},
	{v1alpha1.Group, "tenants", []string{v1alpha1.VerbOwn}, "owns tenants"},
}

func hits(list []string, want string) bool {
	return slices.Contains(list, want) || slices.Contains(list, "*")
}

// hitsResource knows that "*" covers subresources, as does "*/sub".
func hitsResource(list []string, want string) bool {
	_, sub, ok := strings.Cut(want, "/")
	return hits(list, want) || ok && slices.Contains(list, "*/"+sub)
}
