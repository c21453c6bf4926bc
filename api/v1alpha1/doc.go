// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the Tenant API: what a platform admin declares in Git and
// what Tenantry reports about it.
//
// +kubebuilder:object:generate=true
// +groupName=tenantry.dev
package v1alpha1
