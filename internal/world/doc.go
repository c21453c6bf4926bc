// SPDX-License-Identifier: Apache-2.0

// Package world stands in for everything outside of a cluster that Flux fetches from:
// Git over HTTPS and SSH, Helm repositories, OCI registries and buckets. A source's
// manifest stays as it is; the controllers are told to go through this world's proxies
// and to trust its authority. What it serves comes from directories, from a recording,
// or, where that is wanted, from the real place; everything else is refused and told.
package world
