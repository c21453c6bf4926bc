// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/testkit"
)

// compiled sees that what is kept for a tenant is what it compiles to, no less and no more.
func compiled(ctx context.Context, api *testkit.API, tn *v1alpha1.Tenant) error {
	namespaces := &corev1.NamespaceList{}
	if err := api.Client.List(ctx, namespaces, client.MatchingLabels{v1alpha1.TenantLabel: tn.Name}); err != nil {
		return err
	}
	facts := compile.Facts{Now: time.Now()}
	for i := range namespaces.Items {
		facts.Namespaces = append(facts.Namespaces, compile.Observe(&namespaces.Items[i], true))
	}
	want := map[string]bool{}
	for _, o := range compile.Tenant(tn, facts).Objects() {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(o.GroupVersionKind())
		if err := api.Client.Get(ctx, client.ObjectKeyFromObject(o), live); err != nil {
			return err
		}
		if !kube.Holds(live, o) {
			return fmt.Errorf("%s is not as compiled", kube.Describe(o))
		}
		want[kube.Describe(o)] = true
	}
	for _, list := range []client.ObjectList{&rbacv1.RoleBindingList{}, &corev1.LimitRangeList{}, &corev1.ResourceQuotaList{}, &networkingv1.NetworkPolicyList{}, &corev1.ServiceAccountList{}} {
		if err := api.Client.List(ctx, list, client.MatchingLabels(compile.ManagedLabels(tn.Name))); err != nil {
			return err
		}
		err := meta.EachListItem(list, func(o runtime.Object) error {
			kept := o.(client.Object)
			gvk, err := api.Client.GroupVersionKindFor(o)
			if err != nil {
				return err
			}
			name := gvk.Kind + " " + kept.GetNamespace() + "/" + kept.GetName()
			if !want[name] {
				return fmt.Errorf("%s is left over", name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func clientAs(api *testkit.API, user string) (client.Client, error) {
	return kube.NewClient(kube.As(api.Config, user))
}
