// SPDX-License-Identifier: Apache-2.0

package policy

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
