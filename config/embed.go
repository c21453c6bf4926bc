// SPDX-License-Identifier: Apache-2.0

// Package config holds the manifests that Tenantry installs, as the bytes that a
// fresh clone has.
package config

import "embed"

// Files are crd/ and rbac/.
//
//go:embed crd/*.yaml rbac/*.yaml
var Files embed.FS
