// SPDX-License-Identifier: Apache-2.0

// Package admit tells, without a cluster, whether the walls would let a request pass:
// RBAC, Pod Security and Tenantry's own admission policies, evaluated with the API
// server's libraries.
package admit
