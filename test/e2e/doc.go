// SPDX-License-Identifier: Apache-2.0

// Package e2e runs the tenantry program as people do: real processes, real Flux, real
// Git over HTTPS, in copies of the examples.
package e2e
