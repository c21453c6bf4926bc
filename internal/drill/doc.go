// SPDX-License-Identifier: Apache-2.0

// Package drill runs clusters of a fleet on this machine and puts them to the test: it
// has Flux apply the fleet, attacks the tenants, asks what the fleet's people expect, and
// tells of all of it as a trial.
package drill
