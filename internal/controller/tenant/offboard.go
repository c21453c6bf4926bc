// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/status"
)

// offboardRetry is how often a step that waits for others is looked at again.
const offboardRetry = 500 * time.Millisecond

// offboard takes a tenant down in the only order that leaves nothing behind: Flux
// objects while the account that they prune with still may, then namespaces, then
// bindings and accounts, then our finalizer.
func (r *Reconciler) offboard(ctx context.Context, t *v1alpha1.Tenant) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(t, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	live, err := r.inventory(ctx, t.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	defer r.settle(ctx, live)
	// People lose access at once; the accounts keep theirs, to prune.
	if err := r.freeze(ctx, t, live); err != nil {
		return r.finish(ctx, t, status.Facts{}, err)
	}
	step := r.remove
	if t.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
		step = r.retainAll
	}
	waits, err := step(ctx, t, live)
	if err != nil {
		return r.finish(ctx, t, status.Facts{}, err)
	}
	if waits != "" {
		result, err := r.finish(ctx, t, status.Facts{Namespaces: remaining(t, live)},
			status.Wait(v1alpha1.ReasonOffboarding, "waiting for %s", waits))
		// What takes long is looked at less often.
		result.RequeueAfter = min(max(offboardRetry, time.Since(t.DeletionTimestamp.Time)/10), 10*time.Second)
		return result, err
	}
	controllerutil.RemoveFinalizer(t, v1alpha1.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, t))
}

// freeze writes what stands of the tenant as it is compiled for one that goes.
func (r *Reconciler) freeze(ctx context.Context, t *v1alpha1.Tenant, live *inventory) error {
	known, err := r.facts(ctx, t, live)
	if err != nil {
		return err
	}
	plan := compile.Tenant(t, known)
	if err := r.restrict(ctx, plan, live); err != nil {
		return err
	}
	for _, ns := range plan.Namespaces {
		if live.namespaces[ns.Name] == nil || live.terminating(ns.Name) || ns.Origin == v1alpha1.OriginAssigned {
			continue
		}
		if err := r.applyAll(ctx, ns.Grants, live); err != nil && !isTerminating(err) {
			return err
		}
	}
	return nil
}

// remove deletes everything and says what it waits for.
func (r *Reconciler) remove(ctx context.Context, t *v1alpha1.Tenant, live *inventory) (string, error) {
	// A tenant that has no access to a namespace has nothing to be pruned there.
	if waits, err := r.removeFluxObjects(ctx, t, live); waits != "" || err != nil {
		return waits, err
	}
	var others []string
	for name, ns := range live.namespaces {
		if name == t.Name {
			continue
		}
		if assigned(t, ns) {
			if err := r.retain(ctx, ns, live); err != nil {
				return "", err
			}
			continue
		}
		others = append(others, name)
		if err := r.removeNamespace(ctx, ns); err != nil {
			return "", err
		}
	}
	if len(others) > 0 {
		return "namespaces " + list(others), nil
	}
	// The home namespace takes the last bindings and the account with it.
	if home := live.namespaces[t.Name]; home != nil {
		return "namespace " + t.Name, r.removeNamespace(ctx, home)
	}
	return "", nil
}

func (r *Reconciler) removeNamespace(ctx context.Context, ns *corev1.Namespace) error {
	if !ns.DeletionTimestamp.IsZero() {
		return nil
	}
	writes.WithLabelValues("Namespace").Inc()
	return ignoreGone(r.Delete(ctx, ns, precondition(ns)))
}

// assigned tells whether an admin gave an existing namespace to the tenant.
func assigned(t *v1alpha1.Tenant, ns *corev1.Namespace) bool {
	return ns.Labels[v1alpha1.ManagedLabel] != t.Name && !strings.HasPrefix(ns.Name, t.Name+"-")
}

// stuck is how long Flux may take to prune before what it prunes is left to the
// deletion of the namespaces.
const stuck = time.Minute

// removeFluxObjects deletes the tenant's Kustomizations and HelmReleases, ours and
// its own, and waits for Flux to finalize them. Ours go first, since they prune the
// ones that they applied.
func (r *Reconciler) removeFluxObjects(ctx context.Context, t *v1alpha1.Tenant, live *inventory) (string, error) {
	for _, ours := range []bool{true, false} {
		var left []string
		for name, ns := range live.namespaces {
			found, err := r.fluxObjects(ctx, name)
			if err != nil {
				return "", err
			}
			for _, o := range found {
				marked := o.GetLabels()[v1alpha1.ManagedLabel] != ""
				if marked != ours || !marked && assigned(t, ns) {
					continue
				}
				waits, err := r.removeFluxObject(ctx, o)
				if err != nil {
					return "", err
				}
				if waits {
					left = append(left, fmt.Sprintf("%s %s/%s", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName()))
				}
			}
		}
		if len(left) > 0 {
			return "Flux to finalize " + list(left), nil
		}
	}
	return "", nil
}

// removeFluxObject deletes a Flux object and tells whether Flux still holds it. One
// that can't be pruned is suspended after a while: Flux then lets go of it.
func (r *Reconciler) removeFluxObject(ctx context.Context, o client.Object) (waits bool, err error) {
	deleted := o.GetDeletionTimestamp()
	if deleted.IsZero() {
		writes.WithLabelValues(o.GetObjectKind().GroupVersionKind().Kind).Inc()
		return true, ignoreGone(r.Delete(ctx, o, precondition(o)))
	}
	if !slices.Contains(o.GetFinalizers(), kustomizev1.KustomizationFinalizer) {
		return false, nil // what others hold goes with the namespace
	}
	if time.Since(deleted.Time) > stuck {
		return true, r.suspend(ctx, o)
	}
	return true, nil
}

func (r *Reconciler) suspend(ctx context.Context, o client.Object) error {
	return client.IgnoreNotFound(r.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))))
}

// stopFlux suspends what Flux does in a namespace that stays.
func (r *Reconciler) stopFlux(ctx context.Context, namespace string) error {
	found, err := r.fluxObjects(ctx, namespace)
	if err != nil {
		return err
	}
	for _, o := range found {
		if err := r.suspend(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// fluxObjects are the Kustomizations and HelmReleases of a namespace, whoever made them.
func (r *Reconciler) fluxObjects(ctx context.Context, namespace string) ([]client.Object, error) {
	var all []client.Object
	if !r.FluxServed() {
		return nil, nil
	}
	for _, l := range []client.ObjectList{&kustomizev1.KustomizationList{}, &helmv2.HelmReleaseList{}} {
		err := r.Live.List(ctx, l, client.InNamespace(namespace))
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // Flux was uninstalled meanwhile
		}
		if err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(l)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			o := item.(client.Object)
			gvk, err := apiutil.GVKForObject(o, r.Scheme())
			if err != nil {
				return nil, err
			}
			o.GetObjectKind().SetGroupVersionKind(gvk)
			all = append(all, o)
		}
	}
	return all, nil
}

// retainAll stops the syncs without pruning what they applied, takes away access and
// lets the namespaces go.
func (r *Reconciler) retainAll(ctx context.Context, t *v1alpha1.Tenant, live *inventory) (string, error) {
	for k, o := range live.objects {
		ks, ok := o.(*kustomizev1.Kustomization)
		if !ok {
			continue
		}
		if ks.Spec.DeletionPolicy != kustomizev1.DeletionPolicyOrphan {
			keep := ks.DeepCopy()
			keep.Spec.DeletionPolicy, keep.Spec.Prune = kustomizev1.DeletionPolicyOrphan, false
			if err := client.IgnoreNotFound(r.Patch(ctx, keep, client.MergeFrom(ks))); err != nil {
				return "", err
			}
			writes.WithLabelValues(k.kind).Inc()
		}
		if err := r.deleteAll(ctx, []key{k}, live); err != nil {
			return "", err
		}
		return "Flux to let go of Kustomization " + k.namespace + "/" + k.name, nil
	}
	for _, ns := range live.namespaces {
		if err := r.retain(ctx, ns, live); err != nil {
			return "", err
		}
	}
	if len(live.namespaces) > 0 {
		return "namespaces to be released", nil
	}
	return "", nil
}

// remaining are the namespaces that are still there, for the status.
func remaining(t *v1alpha1.Tenant, live *inventory) []v1alpha1.NamespaceStatus {
	left := []v1alpha1.NamespaceStatus{}
	for _, ns := range compile.Tenant(t, compile.Facts{Namespaces: live.observed()}).Namespaces {
		if live.namespaces[ns.Name] != nil {
			left = append(left, ns.NamespaceStatus)
		}
	}
	return left
}
