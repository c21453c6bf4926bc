// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/controller/flux"
)

// inventory is every object of a tenant that exists and bears our mark, with its
// namespaces. The marks are the inventory: policy lets nobody else set them, so it
// outlives the loss of any status.
type inventory struct {
	namespaces map[string]*corev1.Namespace
	objects    map[key]client.Object

	mu sync.Mutex
	// written is what this run wrote, as the API server returned it.
	written []*unstructured.Unstructured
}

// wrote notes a write.
func (inv *inventory) wrote(o *unstructured.Unstructured) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	inv.written = append(inv.written, o)
	writes.WithLabelValues(o.GetKind()).Inc()
}

// key tells objects apart; one version of each kind is used.
type key struct{ kind, namespace, name string }

func keyOf(o client.Object) key {
	return key{o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName()}
}

// inventory reads from the cache.
func (r *Reconciler) inventory(ctx context.Context, tenant string) (*inventory, error) {
	inv := &inventory{namespaces: map[string]*corev1.Namespace{}, objects: map[key]client.Object{}}
	namespaces := &corev1.NamespaceList{}
	if err := r.List(ctx, namespaces, client.MatchingLabels{v1alpha1.TenantLabel: tenant}); err != nil {
		return nil, err
	}
	for i := range namespaces.Items {
		if ns := &namespaces.Items[i]; !compile.System(ns.Name) {
			inv.namespaces[ns.Name] = ns
		}
	}
	kinds := Kinds()
	if r.FluxServed() {
		kinds = append(kinds, flux.Kinds()...)
	}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, r.Scheme())
		if err != nil {
			return nil, err
		}
		o, err := r.Scheme().New(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err != nil {
			return nil, err
		}
		list := o.(client.ObjectList)
		if err := r.List(ctx, list, client.MatchingFields{tenantIndex: tenant}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		err = meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			inv.objects[key{gvk.Kind, o.GetNamespace(), o.GetName()}] = o
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return inv, nil
}

// observed are the namespaces, as compiling looks at them.
func (inv *inventory) observed() []compile.Namespace {
	var all []compile.Namespace
	for name, ns := range inv.namespaces {
		all = append(all, compile.Observe(ns, inv.bound(name)))
	}
	return all
}

// bound tells whether the tenant's account has its binding in a namespace.
func (inv *inventory) bound(namespace string) bool {
	_, ok := inv.objects[key{"RoleBinding", namespace, compile.RoleAdmin}]
	return ok
}

func (inv *inventory) get(o *unstructured.Unstructured) client.Object {
	if o.GetKind() == "Namespace" {
		if ns, ok := inv.namespaces[o.GetName()]; ok {
			return ns
		}
		return nil
	}
	return inv.objects[keyOf(o)]
}
