// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// NetworkPolicies holds those that a tenant writes itself.
var NetworkPolicies = Policy{
	Name:    "networkpolicies",
	Why:     "Network policies add up: one that a tenant writes opens no way to or from other tenants, nodes and metadata services.",
	Match:   []Match{{Group: "networking.k8s.io", Resources: []string{"networkpolicies"}, Operations: write}},
	Tenants: true,
	When:    []Condition{changed("spec")},
	Variables: []Variable{
		tenantVariable, namespacesVariable, strangersVariable,
		{"held", `namespaceObject.metadata.?annotations[?'` + v1alpha1.NetworkAnnotation + `'].orValue('') != '` + string(v1alpha1.NetworkOpen) + `'`},
		{"private", `['10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16', '127.0.0.0/8', '168.63.129.16/32', 'fc00::/7', 'fe80::/10'].map(c, cidr(c))`},
		{"ingress", `object.spec.?ingress.orValue([])`},
		{"egress", `object.spec.?egress.orValue([])`},
	},
	Rules: []Rule{
		{
			ID: "from",
			CEL: `!variables.held || variables.ingress.all(r, r.?from.orValue([]).size() > 0 && r.from.all(p, ` +
				peer(ownNamespace) + `))`,
			Message: `'spec.ingress lets in more than tenant ' + variables.tenant + ` + openMend + ``,
			Allow:   "spec.network.policies, written by a platform admin, or spec.network.mode: open",
		},
		{
			ID: "to",
			CEL: `!variables.held || variables.egress.all(r, r.?to.orValue([]).size() > 0 && r.to.all(p, ` +
				peer(ownNamespace+` || x == 'kubernetes.io/metadata.name=kube-system' && r.?ports.orValue([]).size() > 0 && r.ports.all(port, !has(port.endPort) && string(port.?port.orValue(0)) in ['53', 'dns', 'dns-tcp'])`) + `))`,
			Message: `'spec.egress lets out to more than tenant ' + variables.tenant + ` + openMend + ``,
			Allow:   "spec.network.policies, written by a platform admin, or spec.network.mode: open",
		},
	},
}

const openMend = `', DNS, the platform\'s gateways and public addresses: name peers by podSelector, by a namespaceSelector with matchLabels tenantry.dev/tenant: ' + variables.tenant + ', or by a public ipBlock without private ranges; or ask a platform admin to add the policy to spec.network.policies of the Tenant'`

// ownNamespace is the CEL for: the label x, as key=value, selects namespaces of the
// tenant, or the platform's gateways.
var ownNamespace = `x == 'tenantry.dev/tenant=' + variables.tenant || x == 'tenantry.dev/gateway=true'` +
	` || x.startsWith('kubernetes.io/metadata.name=') && ` + within("x.substring(28)")

// peer is the CEL for: a peer p of a network policy is within the tenant, or is public.
// Label selectors add up, so one label that keeps within the tenant is enough.
func peer(own string) string {
	return fmt.Sprintf(`has(p.ipBlock)`+
		` ? variables.private.all(c, !(c.containsCIDR(p.ipBlock.cidr) || cidr(p.ipBlock.cidr).containsCIDR(c))`+
		` || cidr(p.ipBlock.cidr).containsCIDR(c) && p.ipBlock.?except.orValue([]).exists(e, cidr(e).containsCIDR(c)))`+
		` : !has(p.namespaceSelector)`+
		` || p.namespaceSelector.?matchLabels.orValue({}).map(k, k + '=' + p.namespaceSelector.matchLabels[k]).exists(x, %[1]s)`+
		` || p.namespaceSelector.?matchExpressions.orValue([]).exists(e, e.operator == 'In' && e.?values.orValue([]).size() > 0 && e.values.map(v, e.key + '=' + v).all(x, %[1]s))`, own)
}
