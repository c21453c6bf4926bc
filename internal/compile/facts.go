// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Facts is what compiling needs to know of the cluster, gathered once by the caller.
type Facts struct {
	// Namespaces that carry the tenant's label, in any order.
	Namespaces []Namespace
	// Strangers are namespaces named "<tenant>-..." that are not the tenant's.
	Strangers []string
	// Defaults are the cluster's default classes.
	Defaults Defaults
	// TakenDomains are domains of the tenant that another tenant has already.
	TakenDomains []string
	// Now decides whether an exception has ended.
	Now time.Time
}

// Defaults are names of classes that the cluster gives to what names none.
type Defaults struct {
	Ingress, Storage, Priority []string
}

// Namespace is an existing namespace that carries the tenant's label.
type Namespace struct {
	Name    string
	Created time.Time
	// Managed says that Tenantry made it for this very tenant.
	Managed bool
	// Bound says that the tenant's account has its RoleBinding, RoleAdmin, there already.
	Bound bool
	// Terminating says that it is being deleted.
	Terminating bool
}

// Observe is what compiling needs to know of a live namespace of a tenant.
func Observe(ns *corev1.Namespace, bound bool) Namespace {
	return Namespace{
		Name:        ns.Name,
		Created:     ns.CreationTimestamp.Time,
		Managed:     ns.Labels[v1alpha1.ManagedLabel] == ns.Labels[v1alpha1.TenantLabel],
		Bound:       bound,
		Terminating: !ns.DeletionTimestamp.IsZero(),
	}
}

// System tells whether a namespace is the cluster's, Flux's or ours. None of them is
// ever a tenant's: whoever labelled one for a tenant can't have meant it.
func System(namespace string) bool {
	return strings.HasPrefix(namespace, "kube-") ||
		slices.Contains([]string{metav1.NamespaceDefault, "flux-system", "tenantry-system"}, namespace)
}
