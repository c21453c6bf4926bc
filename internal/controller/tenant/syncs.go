// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/status"
)

func (r *Reconciler) syncs(ctx context.Context, plan compile.Plan, live *inventory) error {
	return r.applyAll(ctx, plan.Syncs, live)
}

// syncStatus reads how each sync fares. The source is asked first: while it has
// nothing, the Kustomization can only say that it waits.
func (r *Reconciler) syncStatus(ctx context.Context, t *v1alpha1.Tenant) ([]v1alpha1.SyncStatus, error) {
	all := make([]v1alpha1.SyncStatus, 0, len(t.Spec.Syncs))
	for _, s := range t.Spec.Syncs {
		at := client.ObjectKey{Namespace: t.Name, Name: s.Name}
		source, conditions := sourceOf(s)
		if err := client.IgnoreNotFound(r.Get(ctx, at, source)); err != nil {
			return nil, err
		}
		ks := &kustomizev1.Kustomization{}
		if err := client.IgnoreNotFound(r.Get(ctx, at, ks)); err != nil {
			return nil, err
		}
		out := v1alpha1.SyncStatus{Name: s.Name, Ready: metav1.ConditionUnknown, Revision: ks.Status.LastAppliedRevision, Message: "not looked at yet"}
		if c := readyOf(source, *conditions); c != nil && c.Status == metav1.ConditionFalse {
			out.Ready, out.Message = c.Status, status.Clip("source: "+c.Message)
		} else if c := readyOf(ks, ks.Status.Conditions); c != nil {
			out.Ready, out.Message = c.Status, status.Clip(c.Message)
		}
		if out.Ready == metav1.ConditionUnknown {
			// Flux says Unknown at the start of every run; that alone is no news.
			if i := slices.IndexFunc(t.Status.Syncs, func(o v1alpha1.SyncStatus) bool {
				return o.Name == s.Name && o.Revision == out.Revision && o.Revision != ""
			}); i >= 0 && t.Status.ObservedGeneration == t.Generation {
				out = t.Status.Syncs[i]
			}
		}
		if t.Spec.Cordoned {
			out.Message = "suspended by spec.cordoned"
		}
		all = append(all, out)
	}
	return all, nil
}

func sourceOf(s v1alpha1.Sync) (client.Object, *[]metav1.Condition) {
	switch {
	case s.Source.OCI != nil:
		o := &sourcev1.OCIRepository{}
		return o, &o.Status.Conditions
	case s.Source.Bucket != nil:
		o := &sourcev1.Bucket{}
		return o, &o.Status.Conditions
	default:
		o := &sourcev1.GitRepository{}
		return o, &o.Status.Conditions
	}
}

// readyOf is the Ready condition, unless it is of an older spec.
func readyOf(o client.Object, conditions []metav1.Condition) *metav1.Condition {
	c := meta.FindStatusCondition(conditions, "Ready")
	if c == nil || c.ObservedGeneration != 0 && c.ObservedGeneration < o.GetGeneration() {
		return nil
	}
	return c
}
