// SPDX-License-Identifier: Apache-2.0

// Package report writes what was found in the formats that others read: JUnit for CI,
// SARIF for code scanning, and one HTML file for people. It knows cases and nothing of
// where they are from.
package report
