// SPDX-License-Identifier: Apache-2.0

// Package fleet reads and changes a fleet repository: the directory in which a
// platform keeps its clusters, their groups, their infrastructure and their tenants.
//
// A change is made in memory, read back as the fleet that it would be, checked, and
// only then written, so that no verb leaves a fleet that it would not read.
package fleet
