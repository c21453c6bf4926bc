// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestTenancyThroughFlux is the life of two tenants, told through their repositories.
func TestTenancyThroughFlux(t *testing.T) {
	dir := examples(t)
	replace(t, filepath.Join(dir, "fleet/tenants/base/oil/tenant.yaml"), "limit: 10", "limit: 60")
	c := up(t, "tenancy", dir)
	ctx := t.Context()
	oil := filepath.Join(dir, "tenants/oil/base")

	t.Run("gas's attempt on default left nothing there", func(t *testing.T) {
		err := c.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "wrong-namespace"}, &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("default/wrong-namespace: %v", err)
		}
	})

	t.Run("pushed namespaces are usable within two seconds", func(t *testing.T) {
		account := c.as("system:serviceaccount:oil:oil")
		w, err := c.client.Watch(ctx, &corev1.NamespaceList{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		const batches, size = 10, 5
		measured := make(chan time.Duration)
		go func() {
			for e := range w.ResultChan() {
				ns, ok := e.Object.(*corev1.Namespace)
				if !ok || e.Type != "ADDED" || !strings.HasPrefix(ns.Name, "oil-lab-") {
					continue
				}
				seen := time.Now()
				go func() {
					for usable(t, account, ns.Name) != nil && time.Since(seen) < 30*time.Second {
						time.Sleep(5 * time.Millisecond)
					}
					measured <- time.Since(seen)
				}()
			}
		}()
		var took []time.Duration
		for b := range batches {
			var manifests strings.Builder
			for n := range size {
				fmt.Fprintf(&manifests, "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: oil-lab-%02d\n", b*size+n)
			}
			file := fmt.Sprintf("lab-%d.yaml", b)
			write(t, filepath.Join(oil, file), manifests.String())
			replace(t, filepath.Join(oil, "kustomization.yaml"), "resources:\n", "resources:\n  - "+file+"\n")
			for range size {
				select {
				case d := <-measured:
					took = append(took, d)
				case <-time.After(90 * time.Second):
					t.Fatalf("batch %d does not come", b)
				}
			}
		}
		slices.Sort(took)
		p99 := took[len(took)*99/100]
		t.Logf("%d namespaces: p50 %s, p99 %s", len(took), took[len(took)/2], p99)
		if p99 > 2*time.Second {
			t.Errorf("p99 is %s", p99)
		}
	})

	t.Run("a namespace taken out of the repository goes", func(t *testing.T) {
		replace(t, filepath.Join(oil, "kustomization.yaml"), "  - lab-3.yaml\n", "")
		testkit.Eventually(t, 90*time.Second, "oil-lab-15 goes", func() error {
			err := c.client.Get(ctx, client.ObjectKey{Name: "oil-lab-15"}, &corev1.Namespace{})
			return gone(err)
		})
	})

	t.Run("a forced change of tenant is refused and the namespace survives", func(t *testing.T) {
		before := &corev1.Namespace{}
		if err := c.client.Get(ctx, client.ObjectKey{Name: "oil-web"}, before); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(oil, "namespace.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: oil-web\n"+
			"  annotations:\n    kustomize.toolkit.fluxcd.io/force: enabled\n  labels:\n    tenantry.dev/tenant: gas\n")
		testkit.Eventually(t, 60*time.Second, "the sync tells of the refusal", func() error {
			k := &kustomizev1.Kustomization{}
			if err := c.client.Get(ctx, client.ObjectKey{Namespace: "oil", Name: "apps"}, k); err != nil {
				return err
			}
			cond := meta.FindStatusCondition(k.Status.Conditions, "Ready")
			if cond == nil || cond.Status != metav1.ConditionFalse || !strings.Contains(cond.Message, "[namespaces/keep-tenant]") {
				return fmt.Errorf("%+v", cond)
			}
			return nil
		})
		after := &corev1.Namespace{}
		if err := c.client.Get(ctx, client.ObjectKey{Name: "oil-web"}, after); err != nil {
			t.Fatal(err)
		}
		if after.UID != before.UID || after.Labels[v1alpha1.TenantLabel] != "oil" || !after.DeletionTimestamp.IsZero() {
			t.Errorf("the namespace was touched: %+v", after.ObjectMeta)
		}
	})

	t.Run("a Tenant taken out of the fleet leaves nothing", func(t *testing.T) {
		replace(t, filepath.Join(dir, "fleet/tenants/staging/kustomization.yaml"), "  - ../base/oil\n", "")
		replace(t, filepath.Join(dir, "fleet/tenants/staging/kustomization.yaml"), "  - path: oil-patch.yaml\n", "")
		testkit.Eventually(t, 4*time.Minute, "oil goes", func() error {
			err := c.client.Get(ctx, client.ObjectKey{Name: "oil"}, &v1alpha1.Tenant{})
			return gone(err)
		})
		namespaces := &corev1.NamespaceList{}
		if err := c.client.List(ctx, namespaces); err != nil {
			t.Fatal(err)
		}
		for _, ns := range namespaces.Items {
			if ns.Name == "oil" || strings.HasPrefix(ns.Name, "oil-") {
				t.Errorf("namespace %s is left", ns.Name)
			}
		}
		testkit.Eventually(t, 10*time.Second, "no binding names oil", func() error {
			bindings := &rbacv1.ClusterRoleBindingList{}
			if err := c.client.List(ctx, bindings); err != nil {
				return err
			}
			for _, b := range bindings.Items {
				for _, s := range b.Subjects {
					if s.Namespace == "oil" || s.Name == "oil-team" {
						return fmt.Errorf("%s names %s", b.Name, s.Name)
					}
				}
			}
			return nil
		})
		if err := c.client.Get(ctx, client.ObjectKey{Name: "gas"}, &v1alpha1.Tenant{}); err != nil {
			t.Errorf("gas: %v", err)
		}
	})
}

func usable(t *testing.T, c client.Client, namespace string) error {
	return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}, client.DryRunAll)
}

// gone takes the error of a get for an answer to whether something went.
func gone(err error) error {
	if err == nil {
		return errors.New("it is there")
	}
	return client.IgnoreNotFound(err)
}
