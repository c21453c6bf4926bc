// SPDX-License-Identifier: Apache-2.0

// Package expect holds what a fleet's own people expect of it, in files beside it: what
// somebody may do and what is refused, what is there and Ready, and what becomes of a
// commit to a tenant's repository. It reads the files and asks a cluster.
package expect
