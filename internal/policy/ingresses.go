// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strconv"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Ingresses holds hosts, classes and what annotations make of an Ingress.
var Ingresses = Policy{
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
		{"strange", `variables.many ? ['more than ` + strconv.Itoa(mostHosts) + ` hosts'] : (` + outside(`object.spec.?rules.orValue([]).map(r, r.?host.orValue(''))`) +
			` + object.spec.?tls.orValue([]).map(t, ` + outside(`t.?hosts.orValue([''])`) + `.join(', ')).filter(s, s != ''))`},
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
			Message: `'ingress class ' + variables.class + ` + ask("variables.classes", "use one of these", "spec.allow.ingressClasses"),
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
}

// mostHosts of an Ingress are looked at.
const mostHosts = 300
