// SPDX-License-Identifier: Apache-2.0

// Package facts reads from a cluster what compiling needs to know, for all who compile:
// the controller from its cache, the command line from the API server.
package facts

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/compile"
)

// Defaults are the classes that the cluster gives to what names none.
func Defaults(ctx context.Context, c client.Reader) (compile.Defaults, error) {
	var d compile.Defaults
	storage := &storagev1.StorageClassList{}
	if err := c.List(ctx, storage); err != nil {
		return d, err
	}
	for _, o := range storage.Items {
		if IsDefault(&o) {
			d.Storage = append(d.Storage, o.Name)
		}
	}
	ingress := &networkingv1.IngressClassList{}
	if err := c.List(ctx, ingress); err != nil {
		return d, err
	}
	for _, o := range ingress.Items {
		if IsDefault(&o) {
			d.Ingress = append(d.Ingress, o.Name)
		}
	}
	priority := &schedulingv1.PriorityClassList{}
	if err := c.List(ctx, priority); err != nil {
		return d, err
	}
	for _, o := range priority.Items {
		if IsDefault(&o) {
			d.Priority = append(d.Priority, o.Name)
		}
	}
	return d, nil
}

// IsDefault tells whether a storage, ingress or priority class is the cluster's default.
func IsDefault(class client.Object) bool {
	if p, ok := class.(*schedulingv1.PriorityClass); ok {
		return p.GlobalDefault
	}
	for _, key := range []string{
		"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
		networkingv1.AnnotationIsDefaultIngressClass,
	} {
		if class.GetAnnotations()[key] == "true" {
			return true
		}
	}
	return false
}
