// SPDX-License-Identifier: Apache-2.0

// Package tenant keeps each Tenant's objects as they are compiled: it gathers
// facts, compiles, writes what differs, walls before grants, and reports.
//
// It never applies or resolves anything that a tenant wrote; what it reads of
// tenants' objects are names, labels and conditions.
package tenant
