// SPDX-License-Identifier: Apache-2.0

// Package kube talks to API servers: scheme, clients, server-side apply.
package kube
