// SPDX-License-Identifier: Apache-2.0

// Package schema tells, without a cluster, what an API server would refuse about an
// object: it knows the kinds of several minors of Kubernetes, Flux's and Tenantry's own
// CRDs, and those that it is given, with their CEL rules.
package schema
