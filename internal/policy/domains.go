// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/tenantry/tenantry/api/v1alpha1"

var domainsVariable = list("domains", v1alpha1.DomainsAnnotation)

// outside is the CEL for: hosts in a list that are within none of the domains. A
// wildcard is within the domain that follows it; none at all stands for every host.
func outside(hosts string) string {
	return hosts + `.filter(h, !variables.domains.exists(d, h == d || h.endsWith('.' + d))).map(h, h == '' ? 'every host' : h)`
}

// hostRule holds the hosts that an object serves, those outside in the variable strange.
func hostRule(kind, mend string) Rule {
	return Rule{
		ID:  "host",
		CEL: `variables.strange.size() == 0`,
		Message: `'` + kind + ` ' + object.metadata.name + ' serves ' + variables.strange.join(', ') + ', domains of this tenant are: ' + ` + named("variables.domains") +
			` + '; ` + mend + `, or ask a platform admin to add it to spec.domains of the Tenant'`,
		Allow: "spec.domains",
	}
}

// dnsVariable is the names that annotations have published, certified or served for an
// object, besides its hosts, and that are within none of the domains.
var dnsVariable = Variable{"names", outside(`['external-dns.alpha.kubernetes.io/hostname', 'external-dns.alpha.kubernetes.io/internal-hostname', 'cert-manager.io/common-name', 'cert-manager.io/alt-names', 'konghq.com/host-aliases']` +
	`.filter(k, k in object.metadata.?annotations.orValue({})).map(k, object.metadata.annotations[k]).join(',').split(',').map(h, h.trim()).filter(h, h != '')`)}

var dnsRule = Rule{
	ID:  "dns",
	CEL: `variables.names.size() == 0`,
	Message: `object.metadata.name + ' has annotations for ' + variables.names.join(', ') + ', domains of this tenant are: ' + ` + named("variables.domains") +
		` + '; leave it out, or ask a platform admin to add it to spec.domains of the Tenant'`,
	Allow: "spec.domains",
}
