// SPDX-License-Identifier: Apache-2.0

// Package tree is a directory of YAML files as it would be with changes that are not
// written yet: each file is read and parsed once, keeps its places in what is found in
// it, and is changed without touching what a change is not about.
package tree
