// SPDX-License-Identifier: Apache-2.0

// Package migrate turns what other tools made of tenants into Tenants, and tells what
// has no equivalent, what becomes stricter and what a person has to do.
//
// Nothing is lost silently. Every object is read through fields that remember what was
// read of them; what was not read is noted when all is done. So a field that nobody
// thought of is told of, not dropped. Left out without a word is only what an API
// server or a controller writes for itself (see bookkeeping.go).
//
// Nothing is widened silently either: where another tool allowed less than Tenantry can
// say, the Tenant gets less, or a note says what to close.
//
// It is pure: documents in, Tenants and notes out, the same for the same documents in
// whatever order they come.
package migrate
