// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Sources hold what a tenant's own Flux sources fetch to what its Tenant allows.
// source-controller fetches from inside the cluster, with its own identity where the
// cloud gives it one, so a free URL reaches what the tenant's Pods can't.
var Sources = []Policy{
	{
		Name:      "gitrepositories",
		Why:       "A tenant's GitRepository fetches only from places that its Tenant allows.",
		Match:     flux("source.toolkit.fluxcd.io", "gitrepositories"),
		Tenants:   true,
		When:      fluxConditions,
		Variables: []Variable{sourcesVariable, verifyVariable},
		Rules: []Rule{
			allowedURL(`object.spec.url`, "spec.url"),
			verified(`false`, `has(object.spec.verify)`, `object.spec.?verify.?secretRef.?name.orValue('')`, `spec.verify`),
			{
				ID:      "submodules",
				CEL:     `!object.spec.?recurseSubmodules.orValue(false)`,
				Message: `'spec.recurseSubmodules fetches from addresses that the repository names and no list holds: leave it out'`,
			},
			noAmbient, noProxy(`has(object.spec.proxySecretRef)`), noShard,
		},
	},
	{
		Name:      "ocirepositories",
		Why:       "A tenant's OCIRepository fetches only from registries and paths that its Tenant allows.",
		Match:     flux("source.toolkit.fluxcd.io", "ocirepositories"),
		Tenants:   true,
		When:      fluxConditions,
		Variables: []Variable{sourcesVariable, verifyVariable},
		Rules: []Rule{
			allowedURL(`object.spec.url`, "spec.url"),
			verified(`false`, `has(object.spec.verify)`, `object.spec.?verify.?secretRef.?name.orValue('')`, `spec.verify`),
			noAmbient, noInsecure, noProxy(`has(object.spec.proxySecretRef)`), noShard,
		},
	},
	{
		Name:      "helmrepositories",
		Why:       "A tenant's HelmRepository fetches only from places that its Tenant allows.",
		Match:     flux("source.toolkit.fluxcd.io", "helmrepositories"),
		Tenants:   true,
		When:      fluxConditions,
		Variables: []Variable{sourcesVariable, verifyVariable},
		Rules: []Rule{
			allowedURL(`object.spec.url`, "spec.url"),
			{
				// Flux looks at signatures of charts from OCI registries alone.
				ID:      "verify",
				CEL:     `variables.verify.size() == 0 || object.spec.?type.orValue('default') == 'oci'`,
				Message: `'this tenant applies only what is signed, and charts of a Helm repository of type default have no signatures: use type oci'`,
				Allow:   "leave out spec.sources.verify",
			},
			{
				ID:      "provider",
				CEL:     `object.spec.?provider.orValue('generic') == 'generic'`,
				Message: `'spec.provider ' + object.spec.?provider.orValue('') + ' would log in with the identity of Flux itself: leave it out and name a Secret in spec.secretRef'`,
			},
			noInsecure, noShard,
		},
	},
	{
		Name:      "helmcharts",
		Why:       "A tenant's HelmChart is verified where its Tenant asks for it. What it fetches is held by its source.",
		Match:     flux("source.toolkit.fluxcd.io", "helmcharts"),
		Tenants:   true,
		When:      fluxConditions,
		Variables: []Variable{verifyVariable},
		Rules: []Rule{
			verified(`object.spec.sourceRef.kind != 'HelmRepository'`, `has(object.spec.verify)`, `object.spec.?verify.?secretRef.?name.orValue('')`, `spec.verify`),
			noShard,
		},
	},
	{
		Name:    "buckets",
		Why:     "A tenant's Bucket fetches only from object stores that its Tenant allows.",
		Match:   flux("source.toolkit.fluxcd.io", "buckets"),
		Tenants: true,
		When:    fluxConditions,
		Variables: []Variable{
			list("buckets", v1alpha1.BucketsAnnotation), verifyVariable,
			{"provider", `object.spec.?provider.orValue('generic')`},
			{"region", `object.spec.?region.orValue('')`},
		},
		Rules: []Rule{
			{
				ID: "bucket",
				CEL: `variables.buckets.map(b, b.split('|')).exists(b, b[0] == variables.provider && b[1] == object.spec.endpoint && (b[2] == '' || b[2] == variables.region)` +
					` && (b[3].endsWith('*') ? object.spec.bucketName.startsWith(b[3].replace('*', '')) : object.spec.bucketName == b[3]))`,
				Message: `'bucket ' + object.spec.bucketName + ' of ' + object.spec.endpoint + ' (' + variables.provider + ') is not allowed: ask a platform admin to add it to spec.sources.buckets of the Tenant'`,
				Allow:   "spec.sources.buckets",
			},
			{
				ID:      "verify",
				CEL:     `variables.verify.size() == 0`,
				Message: `'this tenant applies only what is signed, and a Bucket has no signature: use a GitRepository or an OCIRepository'`,
				Allow:   "leave out spec.sources.verify",
			},
			{
				ID:      "sts",
				CEL:     `!has(object.spec.sts)`,
				Message: `'spec.sts names an address that no list holds: leave it out and name a Secret in spec.secretRef'`,
			},
			noInsecure, noProxy(`has(object.spec.proxySecretRef)`), noShard,
		},
	},
	{
		Name:      "imagerepositories",
		Why:       "A tenant's ImageRepository asks only registries that its Tenant allows.",
		Match:     flux("image.toolkit.fluxcd.io", "imagerepositories"),
		Tenants:   true,
		When:      fluxConditions,
		Variables: []Variable{sourcesVariable, {"url", `'oci://' + object.spec.image`}},
		Rules: []Rule{
			allowedURL(`variables.url`, "spec.image"),
			noAmbient, noInsecure, noProxy(`has(object.spec.proxySecretRef)`), noShard,
		},
	},
}

var (
	sourcesVariable = list("sources", v1alpha1.SourcesAnnotation)
	verifyVariable  = list("verify", v1alpha1.VerifyAnnotation)
)

func allowedURL(url, field string) Rule {
	return Rule{
		ID:  "url",
		CEL: address(url, "variables.sources"),
		Message: `'` + field + ` is ' + ` + url + ` + ', allowed are: ' + ` + named("variables.sources") +
			` + '; use one of these, or ask a platform admin to add it to spec.sources.allow of the Tenant'`,
		Allow: "spec.sources.allow",
	}
}

// verified holds that signatures are checked where a tenant has to, unless the object
// has another way to be signed.
func verified(unless, has, secret, field string) Rule {
	return Rule{
		ID: "verify",
		CEL: `variables.verify.size() == 0 || ` + unless + ` || (` + has + ` && ('*' in variables.verify || ` +
			secret + ` in variables.verify))`,
		Message: `'this tenant applies only what is signed: set ` + field + `' + (variables.verify.size() == 0 || '*' in variables.verify ? '' : ' with a key of Secret ' + variables.verify.join(', '))`,
		Allow:   "leave out spec.sources.verify, or add the Secret to its secretNames",
	}
}

// noAmbient keeps sources from logging in as Flux itself. With a serviceAccountName
// they log in as an account of the tenant.
var noAmbient = Rule{
	ID:      "provider",
	CEL:     `object.spec.?provider.orValue('generic') in ['generic', 'github'] || object.spec.?serviceAccountName.orValue('') != ''`,
	Message: `'spec.provider ' + object.spec.?provider.orValue('') + ' would log in with the identity of Flux itself: set spec.serviceAccountName too, or name a Secret in spec.secretRef'`,
}

var noInsecure = Rule{
	ID:      "insecure",
	CEL:     `!object.spec.?insecure.orValue(false)`,
	Message: `'spec.insecure lets anybody on the way change what is fetched: leave it out'`,
}
