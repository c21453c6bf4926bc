// SPDX-License-Identifier: Apache-2.0

// Package policy holds the constant admission policies: what RBAC alone cannot
// say about tenants. Their number does not depend on the number of tenants; what
// differs between tenants is read from the Namespace and from virtual RBAC verbs.
//
// Rules every policy keeps:
//   - it denies with reason Forbidden, and no message speaks of a field that can't
//     ever change: Flux takes both for a cue to delete and recreate the live object;
//   - it never holds up holders of the verb bypass or the cluster's own controllers;
//   - it matches one family of kinds, so that the API server's type check means something.
package policy
