// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/controller/flux"
	"github.com/tenantry/tenantry/internal/facts"
	"github.com/tenantry/tenantry/internal/status"
)

// Names of cache indexes.
const (
	tenantIndex    = "tenant"     // managed objects by tenant
	prefixIndex    = "prefix"     // tenants and namespaces by the shorter names that they fall under
	namespaceIndex = "namespaces" // tenants by the namespaces that they mention
	domainIndex    = "domains"    // tenants by their domains and what these are below
	refusedIndex   = "refused"    // events that pass on a denial
)

// workers is how many tenants are worked on at one time.
const workers = 16

// Setup registers the controller with a manager.
func Setup(mgr ctrl.Manager, detector *flux.Detector) error {
	r := &Reconciler{
		Client:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Events:     mgr.GetEventRecorder(v1alpha1.FieldManager),
		FluxServed: detector.Served,
	}
	if err := index(mgr); err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("tenant").
		For(&v1alpha1.Tenant{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Tenant{}, handler.EnqueueRequestsFromMapFunc(r.overlapping), builder.WithPredicates(deletions)).
		Watches(&corev1.Namespace{}, handler.Funcs{
			CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
				if e.Object.GetLabels()[v1alpha1.ManagedLabel] == "" { // ours are no news
					r.namespaceChanged(ctx, q, e.Object)
				}
			},
			UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
				r.namespaceChanged(ctx, q, e.ObjectOld, e.ObjectNew)
			},
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.namespaceChanged(ctx, q, e.Object) },
		}).
		Watches(&v1alpha1.Tenant{}, handler.Funcs{
			UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
				r.domainsChanged(ctx, q, e.ObjectOld, e.ObjectNew)
			},
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.domainsChanged(ctx, q, e.Object) },
		}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Event{}, handler.Funcs{
			CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.refused(ctx, q, e.Object) },
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.refused(ctx, q, e.Object) },
		}).
		Watches(&storagev1.StorageClass{}, handler.EnqueueRequestsFromMapFunc(r.everyTenant), builder.WithPredicates(defaults)).
		Watches(&networkingv1.IngressClass{}, handler.EnqueueRequestsFromMapFunc(r.everyTenant), builder.WithPredicates(defaults)).
		Watches(&schedulingv1.PriorityClass{}, handler.EnqueueRequestsFromMapFunc(r.everyTenant), builder.WithPredicates(defaults)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	for _, o := range Kinds() {
		b = b.Watches(o, handler.EnqueueRequestsFromMapFunc(tenantOf), builder.WithPredicates(contentChanged))
	}
	c, err := b.Build(r)
	if err != nil {
		return err
	}
	watchFlux := func(ctx context.Context) error {
		for _, o := range flux.Kinds() {
			if err := mgr.GetFieldIndexer().IndexField(ctx, o, tenantIndex, byTenant); err != nil {
				return err
			}
			if err := c.Watch(source.Kind(mgr.GetCache(), o, handler.EnqueueRequestsFromMapFunc(tenantOf), notCreated)); err != nil {
				return err
			}
		}
		detector.Watched()
		return nil
	}
	if detector.Present() {
		return watchFlux(context.Background())
	}
	// Flux may come later than we do. Tenants that waited for it are looked at again.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if !detector.Wait(ctx) {
			return nil
		}
		if err := watchFlux(ctx); err != nil {
			return err
		}
		tenants := &v1alpha1.TenantList{}
		if err := r.List(ctx, tenants); err != nil {
			return err
		}
		waiting := make(chan event.GenericEvent, len(tenants.Items))
		for i := range tenants.Items {
			waiting <- event.GenericEvent{Object: &tenants.Items[i]}
		}
		return c.Watch(source.Channel(waiting, &handler.EnqueueRequestForObject{}))
	}))
}

// queue is where watches put the tenants to look at.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Kinds are those that a Tenant compiles to, Flux's and Namespaces apart.
func Kinds() []client.Object {
	return []client.Object{
		&rbacv1.RoleBinding{}, &networkingv1.NetworkPolicy{}, &corev1.ResourceQuota{},
		&corev1.LimitRange{}, &corev1.ServiceAccount{},
	}
}

func index(mgr ctrl.Manager) error {
	ctx := context.Background()
	indexer := mgr.GetFieldIndexer()
	for _, o := range Kinds() {
		if err := indexer.IndexField(ctx, o, tenantIndex, byTenant); err != nil {
			return err
		}
	}
	if err := indexer.IndexField(ctx, &v1alpha1.Tenant{}, prefixIndex, func(o client.Object) []string {
		return prefixes(o.GetName())
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1.Namespace{}, prefixIndex, func(o client.Object) []string {
		return prefixes(o.GetName())
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &v1alpha1.Tenant{}, domainIndex, domainClaims); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1.Event{}, refusedIndex, func(o client.Object) []string {
		return []string{strconv.FormatBool(status.Refused(o.(*corev1.Event)))}
	}); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &v1alpha1.Tenant{}, namespaceIndex, mentions)
}

func byTenant(o client.Object) []string {
	if t := o.GetLabels()[v1alpha1.TenantLabel]; t != "" {
		return []string{t}
	}
	return nil
}

// mentions are the namespaces whose coming or going matters to a tenant.
func mentions(o client.Object) []string {
	t := o.(*v1alpha1.Tenant)
	all := append([]string{t.Name}, t.Spec.Namespaces.Declared...)
	for _, owner := range t.Spec.Owners {
		if owner.Namespace != "" {
			all = append(all, owner.Namespace)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func tenantOf(_ context.Context, o client.Object) []reconcile.Request {
	var all []reconcile.Request
	for _, t := range byTenant(o) {
		all = append(all, request(t))
	}
	return all
}

func request(tenant string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: tenant}}
}

// namespaceChanged looks again at the tenants whose namespace it is or was and,
// when one came or went, at those that mention it.
func (r *Reconciler) namespaceChanged(ctx context.Context, q queue, states ...client.Object) {
	for _, o := range states {
		for _, t := range byTenant(o) {
			q.Add(request(t))
		}
	}
	if len(states) > 1 && states[0].GetLabels()[v1alpha1.TenantLabel] == states[1].GetLabels()[v1alpha1.TenantLabel] {
		return
	}
	mentioning := &v1alpha1.TenantList{}
	if err := r.List(ctx, mentioning, client.MatchingFields{namespaceIndex: states[0].GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list tenants that mention a namespace")
		return
	}
	for _, t := range mentioning.Items {
		q.Add(request(t.Name))
	}
	for _, name := range prefixes(states[0].GetName()) {
		q.Add(request(name)) // whose it looks like
	}
}

// overlapping are the tenants whose names a deleted tenant blocked.
func (r *Reconciler) overlapping(ctx context.Context, o client.Object) []reconcile.Request {
	var all []reconcile.Request
	for _, p := range prefixes(o.GetName()) {
		all = append(all, request(p))
	}
	longer := &v1alpha1.TenantList{}
	if err := r.List(ctx, longer, client.MatchingFields{prefixIndex: o.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list overlapping tenants")
	}
	for _, t := range longer.Items {
		all = append(all, request(t.Name))
	}
	return all
}

// domainsChanged looks again at the tenants that want a domain of a tenant that changed.
func (r *Reconciler) domainsChanged(ctx context.Context, q queue, states ...client.Object) {
	for _, o := range states {
		t := o.(*v1alpha1.Tenant)
		for _, d := range t.Spec.Domains {
			rivals, err := r.rivals(ctx, t, d)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "list tenants with a domain")
				return
			}
			for _, rival := range rivals {
				q.Add(request(rival.Name))
			}
		}
	}
}

// calm is how long refusals are gathered before a tenant is looked at: a burst of them
// is one write.
const calm = 2 * time.Second

func (r *Reconciler) refused(ctx context.Context, q queue, o client.Object) {
	if !status.Refused(o.(*corev1.Event)) {
		return
	}
	ns := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: o.GetNamespace()}, ns); err != nil {
		return // one that is gone is no tenant's
	}
	for _, t := range byTenant(ns) {
		q.AddAfter(request(t), calm)
	}
}

// everyTenant looks at all: the cluster's default classes go into the data of each.
func (r *Reconciler) everyTenant(ctx context.Context, _ client.Object) []reconcile.Request {
	tenants := &v1alpha1.TenantList{}
	if err := r.List(ctx, tenants, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list tenants")
	}
	var all []reconcile.Request
	for i := range tenants.Items {
		all = append(all, request(tenants.Items[i].Name))
	}
	return all
}

// defaults lets through classes that are, or were, the cluster's default.
var defaults = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return facts.IsDefault(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return facts.IsDefault(e.ObjectOld) != facts.IsDefault(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return facts.IsDefault(e.Object) },
}

var deletions = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// notCreated leaves out creations: only we make what bears the mark.
var notCreated = predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}

// contentChanged leaves out updates of nothing but status, as a quota's with every Pod,
// and creations.
var contentChanged = predicate.Funcs{
	CreateFunc: notCreated.CreateFunc,
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(content(e.ObjectOld), content(e.ObjectNew))
	},
}

func content(o client.Object) any {
	m := []any{o.GetLabels(), o.GetAnnotations(), o.GetDeletionTimestamp()}
	switch o := o.(type) {
	case *rbacv1.RoleBinding:
		return append(m, o.RoleRef, o.Subjects)
	case *networkingv1.NetworkPolicy:
		return append(m, o.Spec)
	case *corev1.ResourceQuota:
		return append(m, o.Spec)
	case *corev1.LimitRange:
		return append(m, o.Spec)
	case *corev1.ServiceAccount:
		return append(m, o.AutomountServiceAccountToken)
	default:
		return o
	}
}
