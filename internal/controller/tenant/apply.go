// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/status"
)

// Bounds on what one tenant writes at one time.
const (
	parallelNamespaces = 8
	parallelObjects    = 4
)

// namespaces writes each namespace, then what guards it, then its grants, and says
// what stands. The home namespace goes first: the others' bindings name its account.
func (r *Reconciler) namespaces(ctx context.Context, t *v1alpha1.Tenant, plan compile.Plan, live *inventory) ([]v1alpha1.NamespaceStatus, error) {
	stand := make([]v1alpha1.NamespaceStatus, len(plan.Namespaces))
	for i, ns := range plan.Namespaces {
		stand[i] = ns.NamespaceStatus
	}
	build := func(ctx context.Context, i int) error {
		ns := plan.Namespaces[i]
		if len(ns.Guards) == 0 {
			if ns.State == v1alpha1.NamespaceOverLimit {
				gone, err := r.removeUnused(ctx, t, live.namespaces[ns.Name])
				if gone {
					stand[i].State = v1alpha1.NamespaceTerminating
				}
				return err
			}
			return nil
		}
		if err := r.namespace(ctx, ns, live); err != nil {
			if isTerminating(err) {
				stand[i].State = v1alpha1.NamespaceTerminating
				return nil
			}
			return err
		}
		if stand[i].State == v1alpha1.NamespacePending && ns.Origin == v1alpha1.OriginSelfService {
			r.adopted(t, ns.NamespaceStatus, live.namespaces[ns.Name])
		}
		stand[i].State = v1alpha1.NamespaceActive
		return nil
	}
	if err := build(ctx, 0); err != nil {
		return stand, err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelNamespaces)
	for i := 1; i < len(plan.Namespaces); i++ {
		group.Go(func() error { return build(groupCtx, i) })
	}
	return stand, group.Wait()
}

func (r *Reconciler) namespace(ctx context.Context, ns compile.NamespacePlan, live *inventory) error {
	if err := r.ensureNamespace(ctx, ns.Guards[0], live); err != nil {
		return err
	}
	if err := r.applyAll(ctx, ns.Guards[1:], live); err != nil {
		return err
	}
	return r.applyAll(ctx, ns.Grants, live)
}

// ensureNamespace creates a namespace that is not there and fails when somebody
// else was faster: apply would take theirs over.
func (r *Reconciler) ensureNamespace(ctx context.Context, want *unstructured.Unstructured, live *inventory) error {
	if live.get(want) != nil {
		return r.apply(ctx, want, live)
	}
	o := want.DeepCopy()
	// What is created is owned apart from what is applied, and applying could never take
	// it away again. So what may go some day, a cordon or a list, is applied.
	whole := compile.Lasting(o)
	err := r.Create(ctx, o, client.FieldOwner(v1alpha1.FieldManager))
	if apierrors.IsAlreadyExists(err) {
		return status.Wait(v1alpha1.ReasonProgressing, "namespace %s has just been made by somebody else", want.GetName())
	}
	if err != nil {
		return err
	}
	live.wrote(o)
	if whole {
		return nil
	}
	return r.apply(ctx, want, live)
}

func (r *Reconciler) applyAll(ctx context.Context, objects []*unstructured.Unstructured, live *inventory) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelObjects)
	for _, o := range objects {
		group.Go(func() error { return r.apply(ctx, o, live) })
	}
	return group.Wait()
}

// apply writes an object unless it stands already.
func (r *Reconciler) apply(ctx context.Context, want *unstructured.Unstructured, live *inventory) error {
	have := live.get(want)
	if have != nil && kube.Holds(have, want) {
		return nil
	}
	o := want.DeepCopy()
	if have != nil && want.GetKind() == "Namespace" {
		// A namespace that went, or another of its name, is not written.
		o.SetUID(have.GetUID())
	}
	err := kube.Apply(ctx, r.Client, o)
	if apierrors.IsConflict(err) {
		return status.Wait(v1alpha1.ReasonProgressing, "%s has just changed", kube.Describe(want))
	}
	if have == nil && (apierrors.IsInvalid(err) || err == nil && planted(o)) {
		o, err = r.replace(ctx, want)
	}
	if err != nil {
		return err
	}
	live.wrote(o)
	return nil
}

// planted tells whether an object that we meant to make was there before, made by
// somebody else: fields of theirs would stay in it. Flux's finalizer on one that we
// made, and that the cache had not shown yet, is no such field.
func planted(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		if f.Manager == v1alpha1.FieldManager || f.Subresource != "" {
			return false
		}
		fields := f.FieldsV1.GetRawString()
		return strings.Contains(fields, `"f:spec"`) || strings.Contains(fields, `"f:labels"`)
	})
}

// replace makes an object anew in whose place another stood, which can't be had by
// changing that one: finalizers of others must not keep it.
func (r *Reconciler) replace(ctx context.Context, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	old := &unstructured.Unstructured{}
	old.SetGroupVersionKind(want.GroupVersionKind())
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(want), old); client.IgnoreNotFound(err) != nil {
		return nil, err
	} else if err == nil {
		if len(old.GetFinalizers()) > 0 {
			free := old.DeepCopy()
			free.SetFinalizers(nil)
			if err := r.Patch(ctx, free, client.MergeFrom(old)); client.IgnoreNotFound(err) != nil {
				return nil, err
			}
		}
		if err := ignoreGone(r.Delete(ctx, old, precondition(old))); err != nil {
			return nil, err
		}
	}
	o := want.DeepCopy()
	return o, kube.Apply(ctx, r.Client, o)
}

// settle waits until the cache holds what this run wrote, so that the next run,
// which reads from it, does not write again.
func (r *Reconciler) settle(ctx context.Context, live *inventory) {
	r.await(ctx, func() bool {
		for len(live.written) > 0 {
			o := live.written[0]
			if !r.seen(ctx, o.GroupVersionKind(), o) {
				return false
			}
			live.written = live.written[1:]
		}
		return true
	})
}

// await waits a while for something. A slow watch costs a repeated write and nothing else.
func (r *Reconciler) await(ctx context.Context, done func() bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (r *Reconciler) seen(ctx context.Context, gvk schema.GroupVersionKind, written client.Object) bool {
	typed, err := r.Scheme().New(gvk)
	if err != nil {
		return true
	}
	cached := typed.(client.Object)
	if err := r.Get(ctx, client.ObjectKeyFromObject(written), cached); err != nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), written.GetResourceVersion())
	return err != nil || order >= 0
}
