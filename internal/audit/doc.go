// SPDX-License-Identifier: Apache-2.0

// Package audit reads a cluster for what weakens the walls between tenants: policies
// that were changed, roles that widen tenants, Flux without its lockdown. Checks are
// pure: facts in, findings out. It also says, of an attack that got through, which
// object let it.
package audit
