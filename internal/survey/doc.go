// SPDX-License-Identifier: Apache-2.0

// Package survey asks several clusters at once what they know of tenants, so that one
// tenant is seen as one thing wherever it lives. A cluster that doesn't answer is an
// answer too.
package survey
