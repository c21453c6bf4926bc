// SPDX-License-Identifier: Apache-2.0

// Package render works out, without a cluster, what a cluster of a fleet gets: it
// follows Flux from the cluster's directory through Kustomizations, sources that are at
// hand, variables and HelmReleases, and compiles Tenants on the way. What is not at hand
// it says.
package render
