// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// ReadKinds asks an API server which kinds it serves. Groups that don't answer are left
// out: attacks on them are then not tested.
func ReadKinds(cfg *rest.Config) (Kinds, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("ask what the API server serves: %w", err)
	}
	kinds := Kinds{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			continue // no name of a group and version that a request could use
		}
		for _, r := range l.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			kinds[gk] = append(kinds[gk], Resource{Name: r.Name, Version: gv.Version, Namespaced: r.Namespaced})
		}
	}
	return kinds, nil
}

// Cast is what scenes are made of: a cluster's tenants and their namespaces.
type Cast struct {
	Tenants         []*v1alpha1.Tenant
	Namespaces      map[string]*corev1.Namespace
	RuntimeClasses  []string
	PriorityClasses []string
}

// ReadCast reads a cluster's tenants.
func ReadCast(ctx context.Context, c client.Client) (Cast, error) {
	cast := Cast{Namespaces: map[string]*corev1.Namespace{}}
	tenants, namespaces := &v1alpha1.TenantList{}, &corev1.NamespaceList{}
	if err := c.List(ctx, tenants); err != nil {
		return cast, err
	}
	// All of them: one that lost its label is what an audit is for.
	if err := c.List(ctx, namespaces); err != nil {
		return cast, err
	}
	for i := range tenants.Items {
		cast.Tenants = append(cast.Tenants, &tenants.Items[i])
	}
	for i := range namespaces.Items {
		cast.Namespaces[namespaces.Items[i].Name] = &namespaces.Items[i]
	}
	runtimes, priorities := &nodev1.RuntimeClassList{}, &schedulingv1.PriorityClassList{}
	// Classes that may not be listed are as good as none: their attacks are not tested.
	if err := c.List(ctx, runtimes); err != nil && !apierrors.IsForbidden(err) {
		return cast, err
	}
	for _, r := range runtimes.Items {
		cast.RuntimeClasses = append(cast.RuntimeClasses, r.Name)
	}
	if err := c.List(ctx, priorities); err != nil && !apierrors.IsForbidden(err) {
		return cast, err
	}
	for _, p := range priorities.Items {
		cast.PriorityClasses = append(cast.PriorityClasses, p.Name)
	}
	return cast, nil
}

// Scene is the scene for one of the tenants; the next in order is its other. change may
// add to what it is made of.
func (c Cast) Scene(tenant string, change ...func(*SceneFacts)) (Scene, error) {
	i := slices.IndexFunc(c.Tenants, func(t *v1alpha1.Tenant) bool { return t.Name == tenant })
	if i < 0 {
		return Scene{}, fmt.Errorf("there is no Tenant %s on this cluster", tenant)
	}
	f := SceneFacts{
		Tenant: c.Tenants[i], Others: slices.Concat(c.Tenants[i+1:], c.Tenants[:i]), Namespaces: c.Namespaces,
		RuntimeClasses: c.RuntimeClasses, PriorityClasses: c.PriorityClasses,
	}
	for _, ch := range change {
		ch(&f)
	}
	return NewScene(f), nil
}
