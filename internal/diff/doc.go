// SPDX-License-Identifier: Apache-2.0

// Package diff says what a change does to the clusters and tenants of a fleet: objects,
// field by field, what admission policies read, and who gains or loses which role where.
// It is pure, and never says what is in a Secret.
package diff
