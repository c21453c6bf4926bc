// SPDX-License-Identifier: Apache-2.0

// Package provisioner keeps the few ClusterRoleBindings that let tenants' owners try
// to create namespaces. All tenants share them, so that what RBAC looks through on
// every request does not grow by an object per tenant.
package provisioner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
)

// shardIndex finds the tenants of a shard in the cache.
const shardIndex = "shard"

// gather is how long changes are collected after one was written: while many tenants
// come, a shard is written once for several.
const gather = time.Second

// Reconciler keeps one shard's binding; a request names the shard's number.
type Reconciler struct {
	client.Client
	// written is when each shard was written last. One worker uses it.
	written [compile.Shards]time.Time
}

// Setup registers the controller with a manager.
func Setup(mgr ctrl.Manager) error {
	r := &Reconciler{Client: mgr.GetClient()}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.Tenant{}, shardIndex, func(o client.Object) []string {
		return []string{strconv.Itoa(compile.Shard(o.GetName()))}
	}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("provisioner").
		Watches(&v1alpha1.Tenant{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return []reconcile.Request{request(compile.Shard(o.GetName()))}
		})).
		Watches(&rbacv1.ClusterRoleBinding{}, handler.EnqueueRequestsFromMapFunc(shardOf), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		Complete(r)
}

func request(shard int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: strconv.Itoa(shard)}}
}

func shardOf(_ context.Context, o client.Object) []reconcile.Request {
	for shard := range compile.Shards {
		if o.GetName() == compile.ProvisionerName(shard) {
			return []reconcile.Request{request(shard)}
		}
	}
	return nil
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	shard, err := strconv.Atoi(req.Name)
	if err != nil || shard < 0 || shard >= compile.Shards {
		return ctrl.Result{}, reconcile.TerminalError(fmt.Errorf("there is no shard %q", req.Name))
	}
	list := &v1alpha1.TenantList{}
	if err := r.List(ctx, list, client.MatchingFields{shardIndex: req.Name}); err != nil {
		return ctrl.Result{}, err
	}
	var tenants []*v1alpha1.Tenant
	for i := range list.Items {
		if accepted(&list.Items[i]) {
			tenants = append(tenants, &list.Items[i])
		}
	}
	want := compile.Provisioners(shard, tenants)
	have := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: compile.ProvisionerName(shard)}}
	err = r.Get(ctx, client.ObjectKey{Name: compile.ProvisionerName(shard)}, have)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, err
	case want == nil && err == nil:
		return ctrl.Result{}, client.IgnoreNotFound(r.Delete(ctx, have))
	case want == nil, err == nil && kube.Holds(have, want):
		return ctrl.Result{}, nil
	}
	if rest := gather - time.Since(r.written[shard]); rest > 0 {
		return ctrl.Result{RequeueAfter: rest}, nil
	}
	r.written[shard] = time.Now()
	err = kube.Apply(ctx, r.Client, want)
	if apierrors.IsInvalid(err) && have.RoleRef.Name != compile.RoleProvisioner {
		// Another role under our name: a roleRef is given once, so make it anew.
		return ctrl.Result{RequeueAfter: gather}, client.IgnoreNotFound(r.Delete(ctx, have))
	}
	return ctrl.Result{}, err
}

// accepted leaves out tenants without a home namespace of their own, as those whose
// name is somebody else's: their account would be, too.
func accepted(t *v1alpha1.Tenant) bool {
	return slices.ContainsFunc(t.Status.Namespaces, func(ns v1alpha1.NamespaceStatus) bool {
		return ns.Origin == v1alpha1.OriginHome && ns.State == v1alpha1.NamespaceActive
	})
}
