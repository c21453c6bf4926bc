// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// All is the whole set, in the order of installing. It is the same whatever tenants
// there are.
func All() []Policy {
	return slices.Concat(
		[]Policy{Namespaces, Managed, Cordon, Bindings, Roles, Tokens},
		Flux, Sources,
		Workloads, Devices, []Policy{Secrets, Kept},
		Services, []Policy{Ingresses}, Gateways, []Policy{NetworkPolicies},
		Storage, ExternalSecrets,
	)
}
