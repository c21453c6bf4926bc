// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// providerPrefix begins the names of Secrets that notification Providers may use.
const providerPrefix = "provider-"

// Secrets holds the ones that are more than data.
var Secrets = Policy{
	Name:    "secrets",
	Why:     "A Secret of a tenant makes no token for an account, and carries no address past the list of allowed ones.",
	Match:   []Match{{Resources: []string{"secrets"}, Operations: write}},
	Tenants: true,
	Variables: []Variable{
		{"keys", `object.?data.orValue({}).map(k, k) + object.?stringData.orValue({}).map(k, k)`},
		{"addresses", `(object.metadata.name.startsWith('` + providerPrefix + `') ? ['address', 'proxy'] : []) + ['githubAppBaseURL', 'authorityHost']`},
	},
	Rules: []Rule{
		{
			ID:      "token",
			CEL:     `object.?type.orValue('') != 'kubernetes.io/service-account-token'`,
			Message: `'a Secret of type kubernetes.io/service-account-token is a token that never ends, for any account: mount a projected token into the Pod that needs one'`,
		},
		{
			// Flux goes by these before it goes by what an object says.
			ID:      "address",
			CEL:     `!variables.addresses.exists(k, k in variables.keys)`,
			Message: `'Secret ' + object.metadata.name + ' holds ' + variables.addresses.filter(k, k in variables.keys).join(', ') + ', an address that Flux would go to and no list holds: set spec.address of a Provider instead, leave the key out, or name the Secret otherwise than ` + providerPrefix + `...'`,
		},
	},
}

// Kept holds objects that the platform names in a Tenant: what they say counts as said
// by the platform.
var Kept = Policy{
	Name: "kept",
	Why:  "Keys that verify a tenant's sources, and kubeconfigs that it may use, are the platform's: whoever could write them would choose the signer, or the cluster.",
	Match: []Match{
		{Resources: []string{"secrets", "configmaps"}, Operations: writeDelete},
	},
	Tenants: true, Firm: true,
	Variables: append(slices.Clone(requester),
		verifyVariable, list("kubeConfigs", v1alpha1.KubeConfigsAnnotation),
		Variable{"name", `object == null ? oldObject.metadata.name : object.metadata.name`}),
	Rules: []Rule{{
		ID:      "names",
		CEL:     `!(variables.name in variables.verify || variables.name in variables.kubeConfigs) || !variables.ofTenant`,
		Message: `variables.name + ' is kept by the platform, which names it in spec.sources.verify or spec.allow.kubeConfigs of the Tenant: choose another name'`,
	}},
}

// Tokens keeps the accounts that Flux impersonates to Flux.
var Tokens = Policy{
	Name:    "tokens",
	Why:     "Nobody takes a token of the account that a tenant's syncs run as.",
	Match:   []Match{{Resources: []string{"serviceaccounts/token"}, Operations: create}},
	Tenants: true, Firm: true,
	When:      []Condition{notFlux},
	Variables: []Variable{tenantVariable},
	Rules: []Rule{{
		ID:      "managed",
		CEL:     `request.name != variables.tenant`,
		Message: `'account ' + request.name + ' is kept by Tenantry for Flux: make an account of your own'`,
	}},
}
