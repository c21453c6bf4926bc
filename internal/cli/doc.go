// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line and the composition root: the only place where
// the other packages are put together.
package cli
