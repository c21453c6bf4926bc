// SPDX-License-Identifier: Apache-2.0

package policy

// All is the whole set, in the order of installing.
func All() []Policy {
	return append([]Policy{Namespaces, Managed, Cordon, Bindings, Roles}, Flux...)
}
