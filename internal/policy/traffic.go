// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strconv"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Traffic holds what makes a tenant reachable, and what it reaches: it takes no
// address and no host that isn't its own, and opens no way between tenants.
var Traffic = []Policy{
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
				Message: `'a Service of type ' + variables.type + ' is not allowed, allowed are: ' + ` + named("variables.types") + ` + '; use one of these, or ask a platform admin to add it to spec.allow.serviceTypes of the Tenant'`,
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
					` && object.metadata.?annotations.orValue({}).all(k, !k.lowerAscii().matches('(loadbalancerips?|lbipam[a-z.]*/(ips|sharing-key|sharing-cross-namespace)|allow-shared-ip)$'))`,
				Message: `'Service ' + object.metadata.name + ' asks for an address or a kind of load balancer: leave out loadBalancerIP, loadBalancerClass and annotations for addresses'`,
			},
			dnsRule,
		},
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
		Name:    "ingresses",
		Why:     "An Ingress of a tenant serves hosts within the tenant's domains, through a class that its Tenant allows.",
		Match:   []Match{{Group: "networking.k8s.io", Resources: []string{"ingresses"}, Operations: write}},
		Tenants: true,
		When:    []Condition{alive},
		Variables: []Variable{
			domainsVariable, list("classes", v1alpha1.IngressClassesAnnotation),
			{"annotations", `object.metadata.?annotations.orValue({})`}, dnsVariable,
			{"many", `object.spec.?rules.orValue([]).size() + object.spec.?tls.orValue([]).map(t, t.?hosts.orValue([]).size()).sum() > ` + strconv.Itoa(mostHosts)},
			// More than can be looked at within the API server's limit of cost is refused in
			// words, and not as an error.
			{"strange", `variables.many ? ['more than ` + strconv.Itoa(mostHosts) + ` hosts'] : (` + strangers(`object.spec.?rules.orValue([]).map(r, r.?host.orValue(''))`) +
				` + object.spec.?tls.orValue([]).map(t, ` + strangers(`t.?hosts.orValue([''])`) + `.join(', ')).filter(s, s != ''))`},
			{"snippets", `variables.annotations.map(k, k).filter(k, k.matches('(-snippets?|/server-alias(-regex)?|/config-(backend|frontend|tcp|global|defaults|proxy)[a-z-]*)$'))`},
			// Secrets and middlewares that annotations of common controllers name.
			{"elsewhere", `variables.annotations.map(k, k).filter(k, k.endsWith('-secret') && variables.annotations[k].contains('/') && !variables.annotations[k].startsWith(request.namespace + '/')` +
				` || k.endsWith('/router.middlewares') && variables.annotations[k].split(',').exists(m, m.trim().endsWith('@kubernetescrd') && !m.trim().startsWith(request.namespace + '-')))`},
			{"class", `object.spec.?ingressClassName.orValue(variables.annotations[?'kubernetes.io/ingress.class'].orValue(''))`},
		},
		Rules: []Rule{
			hostRule("Ingress", "give every rule and tls entry a host within one"),
			dnsRule,
			{
				ID:      "default-backend",
				CEL:     `!has(object.spec.defaultBackend)`,
				Message: `'spec.defaultBackend takes every host that nobody else serves: use rules with hosts'`,
			},
			{
				// Both ways to name one count.
				ID: "class",
				CEL: `(object.spec.?ingressClassName.orValue('') in [''] + variables.classes) &&` +
					` (!('kubernetes.io/ingress.class' in variables.annotations) || variables.annotations['kubernetes.io/ingress.class'] in variables.classes)`,
				Message: `'ingress class ' + variables.class + ' is not allowed, allowed are: ' + ` + named("variables.classes") + ` + '; use one of these, or ask a platform admin to add it to spec.allow.ingressClasses of the Tenant'`,
				Allow:   "spec.allow.ingressClasses",
			},
			{
				ID:      "snippets",
				CEL:     `variables.snippets.size() == 0`,
				Message: `'annotations with configuration or further hosts change the controller that all share (CVE-2021-25742): leave out ' + variables.snippets.join(', ')`,
			},
			{
				ID:      "references",
				CEL:     `variables.elsewhere.size() == 0`,
				Message: `'annotations refer to another namespace: in ' + variables.elsewhere.join(', ') + ' name what is in ' + request.namespace`,
			},
		},
	},
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
			{"strange", strangers("variables.hosts")},
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
				Message: `'gateway class ' + string(object.spec.gatewayClassName) + ' is not allowed, allowed are: ' + ` + named("variables.classes") + ` + '; use one of these, or ask a platform admin to add it to spec.allow.gatewayClasses of the Tenant'`,
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
	{
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
	},
}

const openMend = `', DNS, the platform\'s gateways and public addresses: name peers by podSelector, by a namespaceSelector with matchLabels tenantry.dev/tenant: ' + variables.tenant + ', or by a public ipBlock without private ranges; or ask a platform admin to add the policy to spec.network.policies of the Tenant'`

var (
	domainsVariable  = list("domains", v1alpha1.DomainsAnnotation)
	gatewaysVariable = list("gateways", v1alpha1.GatewaysAnnotation)
)

// strangers is the CEL for: hosts in a list that are within none of the domains. A
// wildcard is within the domain that follows it; none at all stands for every host.
func strangers(hosts string) string {
	return hosts + `.filter(h, !variables.domains.exists(d, h == d || h.endsWith('.' + d))).map(h, h == '' ? 'every host' : h)`
}

// mostHosts of an Ingress are looked at.
const mostHosts = 300

// dnsVariable is the names that annotations have published, certified or served for an
// object, besides its hosts, and that are within none of the domains.
var dnsVariable = Variable{"names", strangers(`['external-dns.alpha.kubernetes.io/hostname', 'external-dns.alpha.kubernetes.io/internal-hostname', 'cert-manager.io/common-name', 'cert-manager.io/alt-names', 'konghq.com/host-aliases']` +
	`.filter(k, k in object.metadata.?annotations.orValue({})).map(k, object.metadata.annotations[k]).join(',').split(',').map(h, h.trim()).filter(h, h != '')`)}

var dnsRule = Rule{
	ID:  "dns",
	CEL: `variables.names.size() == 0`,
	Message: `object.metadata.name + ' has annotations for ' + variables.names.join(', ') + ', domains of this tenant are: ' + ` + named("variables.domains") +
		` + '; leave it out, or ask a platform admin to add it to spec.domains of the Tenant'`,
	Allow: "spec.domains",
}

func hostRule(kind, mend string) Rule {
	return Rule{
		ID:  "host",
		CEL: `variables.strange.size() == 0`,
		Message: `'` + kind + ` ' + object.metadata.name + ' serves ' + variables.strange.join(', ') + ', domains of this tenant are: ' + ` + named("variables.domains") +
			` + '; ` + mend + `, or ask a platform admin to add it to spec.domains of the Tenant'`,
		Allow: "spec.domains",
	}
}

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
	{"strange", strangers("variables.hosts")},
}

var listenerRule = Rule{
	ID: "routes",
	CEL: `object.spec.listeners.all(l, l.?allowedRoutes.?namespaces.?from.orValue('Same') == 'Same'` +
		` || l.allowedRoutes.namespaces.from == 'Selector' && l.allowedRoutes.namespaces.?selector.?matchLabels[?'tenantry.dev/tenant'].orValue('') == variables.tenant)`,
	Message: `'a listener lets in routes of other tenants: set allowedRoutes.namespaces.from to Same, or to Selector with matchLabels tenantry.dev/tenant: ' + variables.tenant`,
}

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
