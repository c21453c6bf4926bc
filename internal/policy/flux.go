// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Flux holds the Flux objects in tenant namespaces: they run as the tenant's
// account, named by somebody who may, and refer to nothing outside their
// namespace. Flux's own lockdown flags hold part of this; they do not hold
// dependsOn, the sharding label, addresses or who names the account.
var Flux = []Policy{
	{
		Name:      "kustomizations",
		Why:       "A Kustomization in a tenant namespace applies as the tenant's account and refers to its own namespace only.",
		Match:     flux("kustomize.toolkit.fluxcd.io", "kustomizations"),
		Tenants:   true,
		When:      fluxConditions,
		Variables: reconcilerVariables,
		Rules: append(slices.Clone(reconcilerRules),
			local("sourceRef", `object.spec.sourceRef.?namespace.orValue('')`),
			localEach("dependsOn", `object.spec.?dependsOn.orValue([])`)),
	},
	{
		Name:      "helmreleases",
		Why:       "A HelmRelease in a tenant namespace installs as the tenant's account and refers to its own namespace only.",
		Match:     flux("helm.toolkit.fluxcd.io", "helmreleases"),
		Tenants:   true,
		When:      fluxConditions,
		Variables: append(slices.Clone(reconcilerVariables), verifyVariable),
		Rules: append(slices.Clone(reconcilerRules),
			local("chart.spec.sourceRef", `object.spec.?chart.?spec.?sourceRef.?namespace.orValue('')`),
			local("chartRef", `object.spec.?chartRef.?namespace.orValue('')`),
			localEach("dependsOn", `object.spec.?dependsOn.orValue([])`),
			chartMetadata,
			// helm-controller makes the HelmChart of this, and what it makes is not looked at.
			verified(`object.spec.?chart.?spec.?sourceRef.?kind.orValue('') != 'HelmRepository'`,
				`has(object.spec.chart.spec.verify)`, `object.spec.?chart.?spec.?verify.?secretRef.?name.orValue('')`, `spec.chart.spec.verify`)),
	},
	{
		Name:    "alerts",
		Why:     "An Alert in a tenant namespace hears of its own namespace only.",
		Match:   flux("notification.toolkit.fluxcd.io", "alerts"),
		Tenants: true, When: fluxConditions,
		Rules: []Rule{localEach("eventSources", `object.spec.eventSources`), noShard},
	},
	{
		Name:    "providers",
		Why:     "Flux's notification-controller reaches from inside the cluster whatever a Provider names, so a tenant's names only what the platform allows.",
		Match:   flux("notification.toolkit.fluxcd.io", "providers"),
		Tenants: true, When: fluxConditions,
		Variables: []Variable{addressesVariable, {"address", `object.spec.?address.orValue('')`}},
		Rules: []Rule{
			{
				ID:      "address",
				CEL:     address("variables.address", "variables.addresses"),
				Message: `'spec.address is "' + variables.address + '", allowed are: ' + ` + named("variables.addresses") + ` + '; set one of these, or ask a platform admin to add it to spec.allow.addresses of the Tenant'`,
				Allow:   "spec.allow.addresses",
			},
			{
				// An address in the Secret goes before spec.address. The policy secrets keeps
				// addresses out of Secrets of such names.
				ID:      "secret",
				CEL:     `object.spec.?secretRef.?name.orValue('` + providerPrefix + `').startsWith('` + providerPrefix + `')`,
				Message: `'spec.secretRef names ' + object.spec.secretRef.name + ': name the Secret ` + providerPrefix + `<something>, so that it is held to carry no address'`,
			},
			noProxy(`has(object.spec.proxy) || has(object.spec.proxySecretRef)`),
			noShard,
		},
	},
	{
		Name:    "receivers",
		Why:     "A Receiver in a tenant namespace triggers its own namespace only, and fetches keys from no address but allowed ones.",
		Match:   flux("notification.toolkit.fluxcd.io", "receivers"),
		Tenants: true, When: fluxConditions,
		Variables: []Variable{addressesVariable},
		Rules: []Rule{
			localEach("resources", `object.spec.resources`),
			{
				ID:      "issuer",
				CEL:     `object.spec.?oidcProviders.orValue([]).all(o, ` + address("o.issuerURL", "variables.addresses") + `)`,
				Message: `'spec.oidcProviders[].issuerURL: allowed are ' + ` + named("variables.addresses") + ` + '; use one of these, or ask a platform admin to add it to spec.allow.addresses of the Tenant'`,
				Allow:   "spec.allow.addresses",
			},
			noShard,
		},
	},
	{
		Name:    "imagepolicies",
		Why:     "An ImagePolicy in a tenant namespace reads image repositories of its own namespace only.",
		Match:   flux("image.toolkit.fluxcd.io", "imagepolicies"),
		Tenants: true, When: fluxConditions,
		Rules: []Rule{local("imageRepositoryRef", `object.spec.imageRepositoryRef.?namespace.orValue('')`), noShard},
	},
	{
		Name:    "imageupdateautomations",
		Why:     "An ImageUpdateAutomation in a tenant namespace writes to repositories of its own namespace only.",
		Match:   flux("image.toolkit.fluxcd.io", "imageupdateautomations"),
		Tenants: true, When: fluxConditions,
		Rules: []Rule{local("sourceRef", `object.spec.sourceRef.?namespace.orValue('')`), noShard},
	},
	{
		Name:    "artifactgenerators",
		Why:     "An ArtifactGenerator in a tenant namespace reads sources of its own namespace only.",
		Match:   flux("source.extensions.fluxcd.io", "artifactgenerators"),
		Tenants: true, When: fluxConditions,
		Rules: []Rule{localEach("sources", `object.spec.sources`), noShard},
	},
	{
		Name: "flux-status",
		Why:  "The status of a source says what content others apply, and that of a Kustomization what it prunes: Flux alone writes them.",
		Match: []Match{
			{Group: "source.toolkit.fluxcd.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "source.extensions.fluxcd.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "image.toolkit.fluxcd.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "kustomize.toolkit.fluxcd.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "helm.toolkit.fluxcd.io", Resources: []string{"*/status"}, Operations: update},
			{Group: "notification.toolkit.fluxcd.io", Resources: []string{"*/status"}, Operations: update},
			// Its spec is nothing but where the artifact came from; its status is the artifact.
			{Group: "source.toolkit.fluxcd.io", Resources: []string{"externalartifacts"}, Operations: write},
		},
		Tenants: true, Firm: true, When: []Condition{notFlux},
		Rules: []Rule{{
			ID:      "flux-only",
			CEL:     `false`,
			Message: `request.resource.resource + ': Flux alone writes this: leave it out'`,
		}},
	},
}

func flux(group, resource string) []Match {
	return []Match{{Group: group, Resources: []string{resource}, Operations: write}}
}

var fluxConditions = []Condition{alive, notFlux}

var (
	addressesVariable   = list("addresses", v1alpha1.AddressesAnnotation)
	reconcilerVariables = []Variable{
		tenantVariable,
		{"account", `object.spec.?serviceAccountName.orValue('')`},
		list("kubeConfigs", v1alpha1.KubeConfigsAnnotation),
	}
)

// reconcilerRules are for the kinds that apply things.
var reconcilerRules = []Rule{
	{
		ID:      "account",
		CEL:     `variables.account == variables.tenant`,
		Message: `'spec.serviceAccountName is "' + variables.account + '": set it to ' + variables.tenant + ', the account of this tenant'`,
	},
	{
		// In the home namespace the account acts for the whole tenant, so only its
		// owners may name it; elsewhere it holds what an admin of that namespace holds.
		ID: "borrowed-account",
		CEL: `request.userInfo.username == 'system:serviceaccount:' + request.namespace + ':' + variables.account` +
			` || ` + mayIn("variables.tenant", v1alpha1.VerbOwn) +
			` || (request.namespace != variables.tenant && ` + mayIn("request.namespace", v1alpha1.VerbRunAs) + `)`,
		Message: `'you may not let Flux act as the account ' + variables.account + ': ask an owner of tenant ' + variables.tenant + ' to do this'`,
	},
	{
		ID: "kube-config",
		CEL: `!has(object.spec.kubeConfig) || (object.spec.kubeConfig.?secretRef.?name.orValue('') in variables.kubeConfigs` +
			` || object.spec.kubeConfig.?configMapRef.?name.orValue('') in variables.kubeConfigs)`,
		Message: `'spec.kubeConfig names no kubeconfig that is allowed (' + ` + named("variables.kubeConfigs") + ` + '): leave it out and Flux applies to this cluster, or ask a platform admin to add it to spec.allow.kubeConfigs of the Tenant'`,
		Allow:   "spec.allow.kubeConfigs",
	},
	noShard,
}

// chartMetadata is copied by helm-controller, as itself, onto the chart it makes.
var chartMetadata = Rule{
	ID:      "chart-metadata",
	CEL:     `object.spec.?chart.?metadata.?labels.orValue({}).all(k, !k.startsWith('tenantry.dev/') && k != 'sharding.fluxcd.io/key')`,
	Message: `'spec.chart.metadata.labels holds a label that the platform sets: leave it out'`,
}

var noShard = Rule{
	ID:      "shard",
	CEL:     `!('sharding.fluxcd.io/key' in object.metadata.?labels.orValue({}))`,
	Message: `'the label sharding.fluxcd.io/key is set by the platform: leave it out'`,
}

// noProxy keeps Flux's requests from going by way of an address nobody has seen.
func noProxy(has string) Rule {
	return Rule{
		ID:      "proxy",
		CEL:     `!(` + has + `)`,
		Message: `'a proxy of a tenant would answer in the place of the address that is allowed: leave it out'`,
	}
}

// local holds one reference to the object's own namespace.
func local(field, namespace string) Rule {
	return Rule{
		ID:      field,
		CEL:     fmt.Sprintf(`%s in ['', request.namespace]`, namespace),
		Message: fmt.Sprintf(`'spec.%s names namespace ' + %s + ': refer to namespace ' + request.namespace + ' only'`, field, namespace),
	}
}

// localEach holds a list of references to the object's own namespace.
func localEach(field, list string) Rule {
	return Rule{
		ID:      field,
		CEL:     fmt.Sprintf(`%s.all(r, r.?namespace.orValue('') in ['', request.namespace])`, list),
		Message: fmt.Sprintf(`'spec.%s names another namespace: refer to namespace ' + request.namespace + ' only'`, field),
	}
}
