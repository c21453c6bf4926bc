// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/status"
)

// stalledRetry is how often a tenant that needs a person is looked at again, for
// what can't be watched.
const stalledRetry = time.Minute

// Reconciler brings one Tenant's objects to what it compiles to.
type Reconciler struct {
	// Client reads from the cache and writes to the API server.
	client.Client
	// Live reads from the API server, for what is not worth a cache.
	Live client.Reader
	// Events tells people.
	Events events.EventRecorder
	// FluxServed says whether the cluster has Flux's kinds.
	FluxServed func() bool
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	t := &v1alpha1.Tenant{}
	if err := r.Get(ctx, req.NamespacedName, t); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !t.DeletionTimestamp.IsZero() {
		return r.offboard(ctx, t)
	}
	before := t.DeepCopy()
	if controllerutil.AddFinalizer(t, v1alpha1.Finalizer) {
		if err := r.Patch(ctx, t, client.MergeFrom(before)); err != nil {
			return ctrl.Result{}, err
		}
	}
	facts, err := r.build(ctx, t)
	return r.finish(ctx, t, facts, err)
}

// build writes what differs, in order, and returns what stands.
func (r *Reconciler) build(ctx context.Context, t *v1alpha1.Tenant) (status.Facts, error) {
	var facts status.Facts
	live, err := r.inventory(ctx, t.Name)
	if err != nil {
		return facts, err
	}
	defer r.settle(ctx, live)
	known, err := r.facts(ctx, t, live)
	if err != nil {
		return facts, err
	}
	if facts.Refusals, err = r.refusals(ctx, live); err != nil {
		return facts, err
	}
	plan := compile.Tenant(t, known)
	// Whatever else stands in the way, what takes away goes first.
	if err := r.restrict(ctx, plan, live); err != nil {
		return facts, err
	}
	if err := r.check(ctx, t); err != nil {
		return facts, err
	}
	facts.Namespaces, err = r.namespaces(ctx, t, plan, live)
	if err != nil {
		return facts, err
	}
	if err := r.release(ctx, t, plan, live); err != nil {
		return facts, err
	}
	if err := r.syncs(ctx, plan, live); err != nil {
		return facts, err
	}
	if err := r.prune(ctx, plan, live); err != nil {
		return facts, err
	}
	if facts.Syncs, err = r.syncStatus(ctx, t); err != nil {
		return facts, err
	}
	if len(known.TakenDomains) > 0 {
		// The tenant stands, without them.
		return facts, r.domainsTaken(ctx, t, known.TakenDomains)
	}
	return facts, nil
}

// finish is the one place where an outcome becomes status, events and a retry.
func (r *Reconciler) finish(ctx context.Context, t *v1alpha1.Tenant, facts status.Facts, err error) (ctrl.Result, error) {
	var result ctrl.Result
	var problem *status.Problem
	switch {
	case err == nil:
	case errors.As(err, &problem):
		facts.Problem, err = problem, nil
		result.RequeueAfter = time.Second
		if problem.Stalled {
			result.RequeueAfter = stalledRetry
		}
	default:
		facts.Problem = refusal(err)
		if facts.Problem.Stalled {
			result.RequeueAfter, err = stalledRetry, nil
		}
	}
	if facts.Problem != nil {
		// What was known stays said while the rest is unknown.
		if facts.Namespaces == nil {
			facts.Namespaces = t.Status.Namespaces
		}
		if facts.Syncs == nil {
			facts.Syncs = t.Status.Syncs
		}
		if facts.Refusals == nil {
			facts.Refusals = t.Status.Refusals
		}
	}
	if end := nextEnd(t, time.Now()); end > 0 && (result.RequeueAfter == 0 || end < result.RequeueAfter) {
		result.RequeueAfter = end
	}
	before := t.DeepCopy()
	t.Status = status.Of(t, facts)
	if !equality.Semantic.DeepEqual(before.Status, t.Status) {
		if patchErr := r.Status().Patch(ctx, t, client.MergeFrom(before)); patchErr != nil {
			return ctrl.Result{}, errors.Join(err, client.IgnoreNotFound(patchErr))
		}
		r.tell(before, t)
		// The next run compares with what this one said.
		r.await(ctx, func() bool { return r.seen(ctx, v1alpha1.GroupVersion.WithKind("Tenant"), t) })
	}
	return result, err
}
