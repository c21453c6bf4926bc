// SPDX-License-Identifier: Apache-2.0

// Package trial is what came of running a fleet: what became Ready and when, what failed
// and where it was written, what attacks and expectations showed, and what was not as on
// a real cluster. It holds results and writes them for people and for programs; how they
// came about it does not know.
package trial
