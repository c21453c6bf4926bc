// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/tenantry/tenantry/api/v1alpha1"

// Gateways hold the Gateway API's kinds: hosts of the tenant's domains, on Gateways that
// it may use.
var Gateways = []Policy{
	{
		Name:    "routes",
		Why:     "A route of a tenant serves hosts within the tenant's domains and attaches to Gateways that its Tenant allows.",
		Match:   []Match{{Group: "gateway.networking.k8s.io", Resources: []string{"httproutes", "grpcroutes", "tlsroutes"}, Operations: write}},
		Tenants: true,
		When:    []Condition{alive},
		Variables: []Variable{
			tenantVariable, namespacesVariable, strangersVariable, domainsVariable, gatewaysVariable, dnsVariable,
			// Without a host a route takes every host of its Gateway.
			// In a mesh, where its parents are Services, it has none to take.
			{"mesh", `object.spec.?parentRefs.orValue([]).size() > 0 && object.spec.parentRefs.all(p, string(p.?kind.orValue('Gateway')) == 'Service')`},
			{"hosts", `variables.mesh ? [] : object.spec.?hostnames.orValue([]).size() == 0 ? [''] : object.spec.hostnames.map(h, string(h))`},
			{"strange", outside("variables.hosts")},
		},
		Rules: []Rule{
			hostRule("route", "list hostnames within one"),
			dnsRule,
			parentsRule(`object.spec.?parentRefs.orValue([])`, "spec.parentRefs"),
		},
	},
	{
		Name:    "plainroutes",
		Why:     "A route without hosts takes a whole port of a Gateway, so it attaches to those that its Tenant allows.",
		Match:   []Match{{Group: "gateway.networking.k8s.io", Resources: []string{"tcproutes", "udproutes"}, Operations: write}},
		Tenants: true,
		When:    []Condition{alive},
		Variables: []Variable{
			tenantVariable, namespacesVariable, strangersVariable, gatewaysVariable,
		},
		Rules: []Rule{parentsRule(`object.spec.?parentRefs.orValue([])`, "spec.parentRefs")},
	},
	{
		Name:    "gateways",
		Why:     "A Gateway of a tenant is of a class that its Tenant allows, listens for the tenant's domains and lets in routes of its own namespaces.",
		Match:   []Match{{Group: "gateway.networking.k8s.io", Resources: []string{"gateways"}, Operations: write}},
		Tenants: true,
		When:    []Condition{alive},
		Variables: append([]Variable{
			list("classes", v1alpha1.GatewayClassesAnnotation), domainsVariable, dnsVariable,
		}, listenerVariables...),
		Rules: []Rule{
			{
				ID:      "class",
				CEL:     `object.spec.gatewayClassName in variables.classes`,
				Message: `'gateway class ' + string(object.spec.gatewayClassName) + ` + ask("variables.classes", "use one of these", "spec.allow.gatewayClasses"),
				Allow:   "spec.allow.gatewayClasses",
			},
			hostRule("Gateway", "give every listener a hostname within one"),
			dnsRule,
			listenerRule,
			{
				ID:      "listener-sets",
				CEL:     `object.spec.?allowedListeners.?namespaces.?from.orValue('None') in ['None', 'Same']`,
				Message: `'spec.allowedListeners lets other namespaces listen: use Same or None'`,
			},
			{
				ID:      "addresses",
				CEL:     `object.spec.?addresses.orValue([]).size() == 0 && object.spec.?infrastructure.?annotations.orValue({}).size() == 0`,
				Message: `'spec.addresses and spec.infrastructure.annotations ask for an address that may be another\'s: leave them out'`,
			},
		},
	},
	{
		Name:      "listenersets",
		Why:       "A ListenerSet of a tenant listens for the tenant's domains, on Gateways that its Tenant allows.",
		Match:     []Match{{Group: "gateway.networking.k8s.io", Resources: []string{"listenersets"}, Operations: write}},
		Tenants:   true,
		When:      []Condition{alive},
		Variables: append([]Variable{gatewaysVariable, domainsVariable}, listenerVariables...),
		Rules: []Rule{
			hostRule("ListenerSet", "give every listener a hostname within one"),
			listenerRule,
			parentsRule(`[object.spec.parentRef]`, "spec.parentRef"),
		},
	},
	{
		Name:      "referencegrants",
		Why:       "A tenant lets nobody but itself refer to its objects.",
		Match:     []Match{{Group: "gateway.networking.k8s.io", Resources: []string{"referencegrants"}, Operations: write}},
		Tenants:   true,
		When:      []Condition{alive},
		Variables: []Variable{tenantVariable, namespacesVariable, strangersVariable},
		Rules: []Rule{{
			ID:      "from",
			CEL:     `object.spec.from.all(f, ` + within("f.namespace") + `)`,
			Message: `'spec.from names a namespace that is not of tenant ' + variables.tenant + ': name the tenant\'s own only'`,
		}},
	},
}

var gatewaysVariable = list("gateways", v1alpha1.GatewaysAnnotation)

// parentsRule holds what a route or a ListenerSet attaches to.
func parentsRule(refs, field string) Rule {
	return Rule{
		ID: "parent",
		CEL: refs + `.all(p, (` + within("string(p.?namespace.orValue(request.namespace))") +
			`) || string(p.?namespace.orValue(request.namespace)) + '/' + string(p.name) in variables.gateways)`,
		Message: `'` + field + ` names a Gateway that is not allowed, allowed are the tenant\'s own and: ' + ` + named("variables.gateways") + ` + '; use one of these, or ask a platform admin to add it to spec.allow.gateways of the Tenant'`,
		Allow:   "spec.allow.gateways",
	}
}

var listenerVariables = []Variable{
	tenantVariable, namespacesVariable, strangersVariable,
	// A listener for TCP or UDP has no host: it has a port to itself.
	{"hosts", `object.spec.listeners.filter(l, !(string(l.protocol) in ['TCP', 'UDP'])).map(l, string(l.?hostname.orValue('')))`},
	{"strange", outside("variables.hosts")},
}

var listenerRule = Rule{
	ID: "routes",
	CEL: `object.spec.listeners.all(l, l.?allowedRoutes.?namespaces.?from.orValue('Same') == 'Same'` +
		` || l.allowedRoutes.namespaces.from == 'Selector' && l.allowedRoutes.namespaces.?selector.?matchLabels[?'tenantry.dev/tenant'].orValue('') == variables.tenant)`,
	Message: `'a listener lets in routes of other tenants: set allowedRoutes.namespaces.from to Same, or to Selector with matchLabels tenantry.dev/tenant: ' + variables.tenant`,
}
