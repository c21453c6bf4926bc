// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// telltales are kinds that a namespace in use has some of. Nobody of the tenant was
// ever let into a namespace past the limit, so an admin's would be the only ones.
var telltales = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("PodList"),
	corev1.SchemeGroupVersion.WithKind("ServiceList"),
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"),
	appsv1.SchemeGroupVersion.WithKind("DeploymentList"),
	appsv1.SchemeGroupVersion.WithKind("StatefulSetList"),
}

// fresh is how young a namespace must be to be one of a burst: those are seen within
// moments of their creation. An older one came by its label in some other way.
const fresh = 2 * time.Minute

// removeUnused deletes a namespace that a burst made past the limit, if it is new and empty.
func (r *Reconciler) removeUnused(ctx context.Context, t *v1alpha1.Tenant, ns *corev1.Namespace) (gone bool, err error) {
	if time.Since(ns.CreationTimestamp.Time) > fresh || ns.CreationTimestamp.Before(&t.CreationTimestamp) {
		return false, nil
	}
	for _, gvk := range telltales {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		if err := r.Live.List(ctx, list, client.InNamespace(ns.Name), client.Limit(1)); err != nil {
			return false, err
		}
		if len(list.Items) > 0 {
			return false, nil
		}
	}
	err = r.Delete(ctx, ns, precondition(ns))
	if err == nil {
		writes.WithLabelValues("Namespace").Inc()
	}
	return err == nil, ignoreGone(err)
}
