// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/tenantry/tenantry/api/v1alpha1"

// ExternalSecrets holds what the External Secrets operator, which may read every
// tenant's secrets, is asked to fetch and push. Each item may name a store of its own,
// so each item is looked at.
var ExternalSecrets = []Policy{
	{
		Name:    "externalsecrets",
		Why:     "A tenant's ExternalSecret reads from stores that its Tenant allows, and there only keys of its own.",
		Match:   []Match{{Group: "external-secrets.io", Resources: []string{"externalsecrets"}, Operations: write}},
		Tenants: true,
		When:    []Condition{alive},
		Variables: []Variable{
			storesVariable, prefixesVariable,
			{"kind", `object.spec.?secretStoreRef.?kind.orValue('SecretStore')`},
			{"items", `object.spec.?data.orValue([])`},
			{"from", `object.spec.?dataFrom.orValue([])`},
			{"refs", `(has(object.spec.secretStoreRef) ? [object.spec.secretStoreRef] : [])` +
				` + variables.items.filter(d, has(d.sourceRef) && has(d.sourceRef.storeRef)).map(d, d.sourceRef.storeRef)` +
				` + variables.from.filter(d, has(d.sourceRef) && has(d.sourceRef.storeRef)).map(d, d.sourceRef.storeRef)`},
			{"shared", `variables.from.filter(d, d.?sourceRef.?storeRef.?kind.orValue(variables.kind) != 'SecretStore')`},
			// Keys asked of a store that tenants share.
			{"keys", `variables.items.filter(d, d.?sourceRef.?storeRef.?kind.orValue(variables.kind) != 'SecretStore').map(d, d.remoteRef.key)` +
				` + variables.shared.filter(d, has(d.extract)).map(d, d.extract.key)`},
		},
		Rules: []Rule{
			storeRule,
			keyRule,
			{
				// Whether a search keeps to its path is the provider's affair; some don't.
				ID:      "find",
				CEL:     `!variables.shared.exists(d, has(d.find))`,
				Message: `'spec.dataFrom[].find searches a store that tenants share: name keys in data or dataFrom[].extract'`,
			},
			{
				ID: "generator",
				CEL: `variables.items.all(d, d.?sourceRef.?generatorRef.?kind.orValue('') != 'ClusterGenerator')` +
					` && variables.from.all(d, d.?sourceRef.?generatorRef.?kind.orValue('') != 'ClusterGenerator')`,
				Message: `'a ClusterGenerator makes credentials of the platform: use a generator of your own namespace'`,
			},
			{
				ID:      "target",
				CEL:     `!has(object.spec.?target.manifest)`,
				Message: `'spec.target.manifest has the operator write other kinds than Secrets as itself: leave it out'`,
			},
		},
	},
	{
		Name:    "pushsecrets",
		Why:     "A tenant's PushSecret writes to stores that its Tenant allows, and there only keys of its own.",
		Match:   []Match{{Group: "external-secrets.io", Resources: []string{"pushsecrets"}, Operations: write}},
		Tenants: true,
		When:    []Condition{alive},
		Variables: []Variable{
			storesVariable, prefixesVariable,
			{"refs", `object.spec.secretStoreRefs`},
			{"keys", `variables.refs.all(r, r.?kind.orValue('SecretStore') == 'SecretStore') ? [] : object.spec.?data.orValue([]).map(d, d.match.remoteRef.remoteKey)`},
		},
		Rules: []Rule{
			storeRule,
			keyRule,
			{
				// A field of newer versions, with stores and keys of its own.
				ID:      "data-to",
				CEL:     `!has(dyn(object.spec).dataTo)`,
				Message: `'spec.dataTo pushes to keys that no list holds: name each in spec.data'`,
			},
			{
				ID:      "generator",
				CEL:     `object.spec.?selector.?generatorRef.?kind.orValue('') != 'ClusterGenerator'`,
				Message: `'a ClusterGenerator makes credentials of the platform: use a generator of your own namespace'`,
			},
		},
	},
	{
		Name:    "secretstores",
		Why:     "A tenant's own SecretStore uses a provider that its Tenant allows: the operator may reach it with an identity of its own.",
		Match:   []Match{{Group: "external-secrets.io", Resources: []string{"secretstores"}, Operations: write}},
		Tenants: true,
		When:    []Condition{alive},
		Variables: []Variable{
			list("allowed", v1alpha1.SecretProvidersAnnotation),
			{"providers", `dyn(object.spec.provider).map(k, string(k))`},
		},
		Rules: []Rule{{
			ID:      "provider",
			CEL:     `variables.providers.all(p, p in variables.allowed)`,
			Message: `'a SecretStore with provider ' + variables.providers.join(', ') + ` + ask("variables.allowed", "use one of these", "spec.secrets.providers"),
			Allow:   "spec.secrets.providers",
		}},
	},
}

var (
	storesVariable   = list("stores", v1alpha1.SecretStoresAnnotation)
	prefixesVariable = list("prefixes", v1alpha1.SecretPrefixesAnnotation)
)

// storeRule lets in the tenant's own stores and listed ones of the platform, each by
// name: a selector of labels would choose among all.
var storeRule = Rule{
	ID:      "store",
	CEL:     `variables.refs.all(r, r.?kind.orValue('SecretStore') == 'SecretStore' || r.?name.orValue('') in variables.stores)`,
	Message: `'a ClusterSecretStore is not allowed, allowed are: ' + ` + named("variables.stores") + ` + '; name one of these or a SecretStore of your own, or ask a platform admin to add it to spec.secrets.stores of the Tenant'`,
	Allow:   "spec.secrets.stores",
}

var keyRule = Rule{
	ID:      "key",
	CEL:     `variables.keys.all(k, !k.contains('..') && variables.prefixes.exists(p, k.startsWith(p)))`,
	Message: `'keys in a ClusterSecretStore begin with ' + ` + named("variables.prefixes") + ` + ', not: ' + variables.keys.filter(k, k.contains('..') || !variables.prefixes.exists(p, k.startsWith(p))).join(', ')`,
	Allow:   "spec.secrets.keyPrefixes",
}
