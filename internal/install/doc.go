// SPDX-License-Identifier: Apache-2.0

// Package install puts Tenantry's constant objects onto a cluster, walls before
// grants: a policy bites about a second after it is written, and whoever is given
// rights in between would be held by nothing.
package install
