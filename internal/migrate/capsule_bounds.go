// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// readBounds carries over quotas, limits and policies.
func (t *capsuleTenant) readBounds() {
	t.readQuotas(t.in.get("resourceQuotas"))
	for _, f := range t.in.get("limitRanges").get("items").list() {
		t.addLimits(f, limitItems(f.get("limits")))
	}
	for n, f := range t.in.get("networkPolicies").get("items").list() {
		t.readPolicy(f, fmt.Sprintf("capsule-%d", n))
	}
}

func (t *capsuleTenant) readQuotas(f field) {
	scope := f.get("scope")
	perTenant := scope.peek() == "" || scope.peek() == "Tenant"
	scope.unless("Tenant", "Namespace")
	some := false
	for _, item := range f.get("items").list() {
		if !item.get("scopes").blank() || !item.get("scopeSelector").blank() {
			item.tell(Lost, "a quota of a Tenant has no scopes: it is left out; bound all Pods in spec.quota")
			continue
		}
		some = true
		t.spec.Quota = lesser(t.spec.Quota, quantities(item.get("hard")))
	}
	if some && perTenant {
		t.of.tellOf(f.path, Changed, "was shared by all namespaces of the tenant: each namespace has as much for itself now; divide spec.quota by as many as there are")
	}
}

func (t *capsuleTenant) readPolicy(f field, name string) {
	spec := networkingv1.NetworkPolicySpec{}
	if err := f.into(&spec); err != nil {
		f.tell(Do, "is no spec of a NetworkPolicy: correct it and import again, or write spec.network.policies")
		return
	}
	if relabel(&spec) {
		f.of.tellOf(f.path, Changed, "selects namespaces by %s now, which is Tenantry's label, where it did by Capsule's", v1alpha1.TenantLabel)
	}
	t.addPolicy(f, name, spec)
}

// relabel has a policy select namespaces by the label that they will have.
func relabel(spec *networkingv1.NetworkPolicySpec) bool {
	changed := false
	peers := func(all []networkingv1.NetworkPolicyPeer) {
		for _, p := range all {
			changed = relabelSelector(p.NamespaceSelector) || changed
		}
	}
	for _, r := range spec.Ingress {
		peers(r.From)
	}
	for _, r := range spec.Egress {
		peers(r.To)
	}
	return changed
}

func relabelSelector(s *metav1.LabelSelector) bool {
	if s == nil {
		return false
	}
	changed := false
	if v, ok := s.MatchLabels[capsuleLabel]; ok {
		delete(s.MatchLabels, capsuleLabel)
		s.MatchLabels[v1alpha1.TenantLabel] = v
		changed = true
	}
	for i := range s.MatchExpressions {
		if s.MatchExpressions[i].Key == capsuleLabel {
			s.MatchExpressions[i].Key = v1alpha1.TenantLabel
			changed = true
		}
	}
	return changed
}
