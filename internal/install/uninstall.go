// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
)

// ErrTenants says that Tenants exist.
var ErrTenants = errors.New("tenants exist")

// Uninstall removes what Install wrote: grants before walls, the API last. It
// refuses while Tenants exist unless told otherwise; then their finalizers are taken
// off once the controller has no rights left, and what they compiled to stays.
func (i *Installer) Uninstall(ctx context.Context, withTenants, dryRun bool) ([]*unstructured.Unstructured, error) {
	tenants, err := i.tenants(ctx)
	if err != nil {
		return nil, err
	}
	if len(tenants) > 0 && !withTenants {
		var names []string
		for _, t := range tenants {
			names = append(names, t.Name)
		}
		return nil, fmt.Errorf("%w: %s; delete them first with `tenantry tenant delete`, or give --with-tenants to leave what they made standing unguarded", ErrTenants, strings.Join(names, ", "))
	}
	set, err := i.Set()
	if err != nil {
		return nil, err
	}
	removed, err := i.remove(ctx, append(backwards(set.Grants), provisioners()...), dryRun)
	if err != nil {
		return removed, err
	}
	if !dryRun {
		if err := i.letGo(ctx, tenants); err != nil {
			return removed, err
		}
	}
	// Backwards, roles go before the policies that hold whoever is still bound to them.
	walls, err := i.remove(ctx, backwards(set.Walls), dryRun)
	return append(removed, walls...), err
}

func backwards(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	objects = slices.Clone(objects)
	slices.Reverse(objects)
	return objects
}

// provisioners are the bindings that the controller made for all tenants.
func provisioners() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for shard := range compile.Shards {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"))
		o.SetName(compile.ProvisionerName(shard))
		all = append(all, o)
	}
	return all
}

// remove deletes objects and returns those that were there.
func (i *Installer) remove(ctx context.Context, objects []*unstructured.Unstructured, dryRun bool) ([]*unstructured.Unstructured, error) {
	var opts []client.DeleteOption
	if dryRun {
		opts = append(opts, client.DryRunAll)
	}
	var removed []*unstructured.Unstructured
	for _, o := range objects {
		err := i.client.Delete(ctx, o, opts...)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return removed, fmt.Errorf("remove %s: %w", kube.Describe(o), err)
		}
		removed = append(removed, o)
	}
	return removed, nil
}

func (i *Installer) tenants(ctx context.Context) ([]v1alpha1.Tenant, error) {
	list := &v1alpha1.TenantList{}
	err := i.client.List(ctx, list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.Items, err
}

// letGo takes our finalizer off, so that the API can be removed.
func (i *Installer) letGo(ctx context.Context, tenants []v1alpha1.Tenant) error {
	for n := range tenants {
		t := &tenants[n]
		before := t.DeepCopy()
		if controllerutil.RemoveFinalizer(t, v1alpha1.Finalizer) {
			if err := i.client.Patch(ctx, t, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return nil
}
