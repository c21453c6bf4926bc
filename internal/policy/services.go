// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/tenantry/tenantry/api/v1alpha1"

// Services hold how a tenant is reached inside the cluster, and which of its traffic
// could be somebody else's: it takes in no address, and answers for no other.
var Services = []Policy{
	{
		Name:    "services",
		Why:     "A Service of a tenant is of a type that its Tenant allows, and takes no address in (CVE-2020-8554).",
		Match:   []Match{{Resources: []string{"services"}, Operations: write}},
		Tenants: true,
		When:    []Condition{{"changed", `oldObject == null || object.spec != oldObject.spec || object.metadata.?annotations != oldObject.metadata.?annotations`}},
		Variables: []Variable{
			list("types", v1alpha1.ServiceTypesAnnotation), {"type", `object.spec.?type.orValue('ClusterIP')`},
			domainsVariable, dnsVariable,
		},
		Rules: []Rule{
			{
				ID:      "type",
				CEL:     `variables.type in variables.types`,
				Message: `'a Service of type ' + variables.type + ` + ask("variables.types", "use one of these", "spec.allow.serviceTypes"),
				Allow:   "spec.allow.serviceTypes",
			},
			{
				ID:      "external-ips",
				CEL:     `object.spec.?externalIPs.orValue([]).size() == 0`,
				Message: `'spec.externalIPs would take in traffic that is for others: leave it out'`,
			},
			{
				ID: "load-balancer",
				CEL: `object.spec.?loadBalancerIP.orValue('') == '' && object.spec.?loadBalancerClass.orValue('') == ''` +
					` && object.metadata.?annotations.orValue({}).all(k, !k.lowerAscii().matches('(loadbalancerips?|lbipam.cilium.io/[a-z-]+|lb-ipam-[a-z-]+|allow-shared-ip)$'))`,
				Message: `'Service ' + object.metadata.name + ' asks for an address or a kind of load balancer: leave out loadBalancerIP, loadBalancerClass and annotations for addresses'`,
			},
			dnsRule,
		},
	},
	{
		Name: "endpoints",
		Why:  "Endpoints written by hand send a Service's traffic to any address, also past the walls of others (CVE-2021-25740).",
		Match: []Match{
			{Resources: []string{"endpoints"}, Operations: write},
			{Group: "discovery.k8s.io", Resources: []string{"endpointslices"}, Operations: write},
		},
		Tenants:   true,
		Variables: requester,
		Rules: []Rule{{
			ID:      "by-hand",
			CEL:     `!variables.ofTenant`,
			Message: `request.resource.resource + ' are written by the cluster: give the Service a selector, or ask a platform admin to make this one'`,
		}},
	},
	{
		Name: "status",
		Why:  "Statuses that decide where traffic goes, what a volume holds or which Pod answers are written by controllers, and by nobody of a tenant.",
		Match: []Match{
			{Resources: []string{"services/status", "persistentvolumeclaims/status", "pods/status", "resourcequotas/status"}, Operations: update},
			{Group: "networking.k8s.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "gateway.networking.k8s.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "snapshot.storage.k8s.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "resource.k8s.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "external-secrets.io", Resources: []string{"*/status"}, Operations: update},
		},
		Tenants: true, Firm: true,
		Variables: requester,
		Rules: []Rule{{
			ID:      "controllers-only",
			CEL:     `!variables.ofTenant`,
			Message: `request.resource.resource + '/status is written by controllers: leave it out'`,
		}},
	},
}
