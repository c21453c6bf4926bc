// SPDX-License-Identifier: Apache-2.0

// Package compile turns a Tenant, and what is known of the cluster, into the
// native objects that make its walls.
//
// It is pure: the same input gives the same bytes in the controller, in
// `tenantry tenant export` and in the golden files.
package compile
