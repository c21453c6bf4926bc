// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
)

// pruneOrder takes away access before what guarded it, and what applies before what
// it applied as.
var pruneOrder = []string{"Kustomization", "GitRepository", "OCIRepository", "Bucket", "RoleBinding", "ServiceAccount"}

// prune deletes marked objects that the plan has no place for.
func (r *Reconciler) prune(ctx context.Context, plan compile.Plan, live *inventory) error {
	wanted := map[key]bool{}
	for _, o := range plan.Objects() {
		wanted[keyOf(o)] = true
	}
	var extra []key
	for k := range live.objects {
		if !wanted[k] && !live.terminating(k.namespace) {
			extra = append(extra, k)
		}
	}
	return r.deleteAll(ctx, extra, live)
}

func (inv *inventory) terminating(namespace string) bool {
	ns, ok := inv.namespaces[namespace]
	return ok && !ns.DeletionTimestamp.IsZero()
}

func (r *Reconciler) deleteAll(ctx context.Context, keys []key, live *inventory) error {
	slices.SortFunc(keys, func(a, b key) int {
		rank := func(k key) int {
			if i := slices.Index(pruneOrder, k.kind); i >= 0 {
				return i
			}
			return len(pruneOrder)
		}
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name)
	})
	for _, k := range keys {
		o := live.objects[k]
		if !o.GetDeletionTimestamp().IsZero() {
			continue
		}
		// The cache's object is shared; deleting reads it and changes nothing.
		if err := ignoreGone(r.Delete(ctx, o, precondition(o))); err != nil {
			return err
		}
		delete(live.objects, k)
		writes.WithLabelValues(k.kind).Inc()
	}
	return nil
}

// precondition deletes the very object that was looked at, and no later one of its name.
func precondition(o client.Object) client.Preconditions {
	uid := o.GetUID()
	return client.Preconditions{UID: &uid}
}

// ignoreGone takes an object that is gone, or another by now, for deleted.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// release lets go of namespaces that the Tenant no longer declares, as its
// deletion policy says.
func (r *Reconciler) release(ctx context.Context, t *v1alpha1.Tenant, plan compile.Plan, live *inventory) error {
	for _, name := range plan.Released {
		ns := live.namespaces[name]
		if !ns.DeletionTimestamp.IsZero() {
			continue
		}
		if t.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
			if err := r.retain(ctx, ns, live); err != nil {
				return err
			}
			continue
		}
		if err := ignoreGone(r.Delete(ctx, ns, precondition(ns))); err != nil {
			return err
		}
		writes.WithLabelValues("Namespace").Inc()
	}
	return nil
}

// retain makes a namespace the platform's again: access goes, also what the tenant gave
// itself, Flux stops, then what guarded it goes, then our marks; what was deployed stays.
func (r *Reconciler) retain(ctx context.Context, ns *corev1.Namespace, live *inventory) error {
	if err := r.stopFlux(ctx, ns.Name); err != nil {
		return err
	}
	bindings := &rbacv1.RoleBindingList{}
	if err := r.Live.List(ctx, bindings, client.InNamespace(ns.Name)); err != nil {
		return err
	}
	for i := range bindings.Items {
		if err := ignoreGone(r.Delete(ctx, &bindings.Items[i], precondition(&bindings.Items[i]))); err != nil {
			return err
		}
		writes.WithLabelValues("RoleBinding").Inc()
	}
	var marked []key
	for k := range live.objects {
		if k.namespace == ns.Name {
			marked = append(marked, k)
		}
	}
	if err := r.deleteAll(ctx, marked, live); err != nil {
		return err
	}
	before := ns.DeepCopy()
	after := ns.DeepCopy()
	ours := func(key, _ string) bool {
		return strings.HasPrefix(key, v1alpha1.Group+"/") || key == v1alpha1.FluxTenantLabel
	}
	maps.DeleteFunc(after.Labels, ours)
	maps.DeleteFunc(after.Annotations, ours)
	if err := r.Patch(ctx, after, client.MergeFrom(before), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return client.IgnoreNotFound(err)
	}
	writes.WithLabelValues("Namespace").Inc()
	return nil
}
