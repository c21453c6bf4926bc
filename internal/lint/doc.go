// SPDX-License-Identifier: Apache-2.0

// Package lint says what is wrong with a fleet, or with a tenant's repository, before
// any cluster sees it: each finding with its rule, its place, what is wrong and what to
// do. It fetches nothing and asks no cluster.
package lint
