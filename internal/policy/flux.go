// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Flux holds the Flux objects in tenant namespaces: they run as the tenant's
// account, named by somebody who may, and refer to nothing outside their
// namespace. Flux's own lockdown flags hold part of this; they do not hold
// dependsOn, the sharding label or who names the account.
var Flux = []Policy{
	{
		Name:      "kustomizations",
		Why:       "A Kustomization in a tenant namespace applies as the tenant's account and refers to its own namespace only.",
		Match:     flux("kustomize.toolkit.fluxcd.io", "kustomizations"),
		Tenants:   true,
		When:      alive,
		Variables: []Variable{accountVariable, tenantVariable},
		Rules: append(accountRules,
			local("sourceRef", `object.spec.sourceRef.?namespace.orValue('')`),
			localEach("dependsOn", `object.spec.?dependsOn.orValue([])`),
			noKubeConfig, noShard),
	},
	{
		Name:      "helmreleases",
		Why:       "A HelmRelease in a tenant namespace installs as the tenant's account and refers to its own namespace only.",
		Match:     flux("helm.toolkit.fluxcd.io", "helmreleases"),
		Tenants:   true,
		When:      alive,
		Variables: []Variable{accountVariable, tenantVariable},
		Rules: append(accountRules,
			local("chart.spec.sourceRef", `object.spec.?chart.?spec.?sourceRef.?namespace.orValue('')`),
			local("chartRef", `object.spec.?chartRef.?namespace.orValue('')`),
			localEach("dependsOn", `object.spec.?dependsOn.orValue([])`),
			chartMetadata, noKubeConfig, noShard),
	},
	{
		Name:    "alerts",
		Why:     "An Alert in a tenant namespace hears of its own namespace only.",
		Match:   flux("notification.toolkit.fluxcd.io", "alerts"),
		Tenants: true, When: alive,
		Rules: []Rule{localEach("eventSources", `object.spec.eventSources`), noShard},
	},
	{
		Name:    "receivers",
		Why:     "A Receiver in a tenant namespace triggers its own namespace only.",
		Match:   flux("notification.toolkit.fluxcd.io", "receivers"),
		Tenants: true, When: alive,
		Rules: []Rule{localEach("resources", `object.spec.resources`), noShard},
	},
	{
		Name:    "imagepolicies",
		Why:     "An ImagePolicy in a tenant namespace reads image repositories of its own namespace only.",
		Match:   flux("image.toolkit.fluxcd.io", "imagepolicies"),
		Tenants: true, When: alive,
		Rules: []Rule{local("imageRepositoryRef", `object.spec.imageRepositoryRef.?namespace.orValue('')`), noShard},
	},
	{
		Name:    "imageupdateautomations",
		Why:     "An ImageUpdateAutomation in a tenant namespace writes to repositories of its own namespace only.",
		Match:   flux("image.toolkit.fluxcd.io", "imageupdateautomations"),
		Tenants: true, When: alive,
		Rules: []Rule{local("sourceRef", `object.spec.sourceRef.?namespace.orValue('')`), noShard},
	},
	{
		Name:    "artifactgenerators",
		Why:     "An ArtifactGenerator in a tenant namespace reads sources of its own namespace only.",
		Match:   flux("source.extensions.fluxcd.io", "artifactgenerators"),
		Tenants: true, When: alive,
		Rules: []Rule{localEach("sources", `object.spec.sources`), noShard},
	},
	{
		Name: "sources",
		Why:  "A source in a tenant namespace is fetched by the platform's own Flux and not moved to a shard by a label.",
		Match: []Match{
			{Group: "source.toolkit.fluxcd.io", Resources: []string{"gitrepositories", "ocirepositories", "buckets", "helmrepositories", "helmcharts"}, Operations: write},
			{Group: "image.toolkit.fluxcd.io", Resources: []string{"imagerepositories"}, Operations: write},
		},
		Tenants: true, When: alive,
		Rules: []Rule{noShard},
	},
}

func flux(group, resource string) []Match {
	return []Match{{Group: group, Resources: []string{resource}, Operations: write}}
}

// alive lets go of objects that are being deleted and of which no more than metadata
// changes, so that a finalizer can always be taken off, and of Flux's own writes.
var alive = []Condition{
	{"alive", `!(has(object.metadata.deletionTimestamp) && oldObject != null && object.spec == oldObject.spec)`},
	{"not-flux", `!` + may(v1alpha1.VerbReconcile)},
}

var (
	tenantVariable  = Variable{"tenant", `namespaceObject.metadata.labels['tenantry.dev/tenant']`}
	accountVariable = Variable{"account", `object.spec.?serviceAccountName.orValue('')`}
)

var accountRules = []Rule{
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
}

var noKubeConfig = Rule{
	ID:      "kube-config",
	CEL:     `!has(object.spec.kubeConfig)`,
	Message: `'spec.kubeConfig is not allowed in a tenant namespace: leave it out, Flux applies to this cluster'`,
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
