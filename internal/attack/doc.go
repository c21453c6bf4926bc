// SPDX-License-Identifier: Apache-2.0

// Package attack holds the isolation suite: attacks on a tenant's walls as data, how
// each is turned into requests for one tenant, how answers are judged, and the runner
// that sends the requests. An error is never a defence: the denial has to come from the
// wall that the attack names, and a harmless twin of the request has to pass.
package attack
