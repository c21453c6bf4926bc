// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(m, testkit.Options{Flux: true, ControlPlaneOptions: local.ControlPlaneOptions{Controllers: true}})
}

func startController(t *testing.T, api *testkit.API) (stop func()) {
	t.Helper()
	return testkit.StartController(t, api)
}

// newTenant makes a Tenant that the test's end removes.
func newTenant(t *testing.T, api *testkit.API, name string, change func(*v1alpha1.TenantSpec)) *v1alpha1.Tenant {
	t.Helper()
	tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	tn.Spec.Owners = []v1alpha1.Owner{{Kind: v1alpha1.OwnerUser, Name: name + "-owner"}}
	if change != nil {
		change(&tn.Spec)
	}
	if err := api.Client.Create(t.Context(), tn); err != nil {
		t.Fatal(err)
	}
	return tn
}

func selfService(limit int32) func(*v1alpha1.TenantSpec) {
	return func(s *v1alpha1.TenantSpec) { s.Namespaces.SelfService = &v1alpha1.SelfService{Limit: limit} }
}

// expectCondition waits until a condition of the tenant is True, for the reason given
// if any, and returns the tenant.
func expectCondition(t *testing.T, api *testkit.API, name, kind, reason string) *v1alpha1.Tenant {
	t.Helper()
	tn := &v1alpha1.Tenant{}
	testkit.Eventually(t, 20*time.Second, fmt.Sprintf("tenant %s is %s (%s)", name, kind, reason), func() error {
		if err := api.Client.Get(t.Context(), client.ObjectKey{Name: name}, tn); err != nil {
			return err
		}
		c := meta.FindStatusCondition(tn.Status.Conditions, kind)
		if c == nil || c.Status != metav1.ConditionTrue || reason != "" && c.Reason != reason || tn.Status.ObservedGeneration != tn.Generation {
			return fmt.Errorf("status is %+v", tn.Status)
		}
		return nil
	})
	return tn
}

func expectReady(t *testing.T, api *testkit.API, name string) *v1alpha1.Tenant {
	t.Helper()
	return expectCondition(t, api, name, v1alpha1.ReadyCondition, "")
}

func expectGone(t *testing.T, api *testkit.API, o client.Object) {
	t.Helper()
	testkit.Eventually(t, 30*time.Second, kube.Describe(o)+" "+o.GetName()+" goes", func() error {
		err := api.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// usable tells whether an identity may work in a namespace.
func usable(ctx context.Context, c client.Client, namespace string) error {
	return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: namespace}}, client.DryRunAll)
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
