// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/testkit"
)

func TestOnboardAndOffboard(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "team", func(s *v1alpha1.TenantSpec) {
		s.Namespaces.Declared = []string{"apps"}
		s.Namespaces.SelfService = &v1alpha1.SelfService{Limit: 3, Labels: map[string]string{"cost-center": "42"}}
		s.Quota = corev1.ResourceList{"pods": resource.MustParse("50")}
	})
	got := expectReady(t, api, "team")
	if got.Status.NamespaceCount != 2 {
		t.Errorf("%d namespaces, want the home namespace and apps: %+v", got.Status.NamespaceCount, got.Status.Namespaces)
	}
	owner, account := api.As(t, "team-owner"), api.AsAccount(t, "team", "team")
	for _, ns := range []string{"team", "apps"} {
		if err := usable(ctx, owner, ns); err != nil {
			t.Errorf("the owner may not work in %s: %v", ns, err)
		}
		if err := usable(ctx, account, ns); err != nil {
			t.Errorf("the account may not work in %s: %v", ns, err)
		}
	}
	if err := usable(ctx, owner, "default"); !apierrors.IsForbidden(err) {
		t.Errorf("the owner may work in default: %v", err)
	}

	// A namespace that the tenant makes becomes its own within the promised time.
	testkit.Eventually(t, 5*time.Second, "the account may create namespaces", func() error {
		return account.Create(ctx, namespace("team-web"))
	})
	start := time.Now()
	testkit.Eventually(t, 2*time.Second, "team-web is usable", func() error { return usable(ctx, account, "team-web") })
	t.Logf("usable after %s", time.Since(start))
	web := namespace("team-web")
	if err := api.Client.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		v1alpha1.TenantLabel: "team", "cost-center": "42", "pod-security.kubernetes.io/enforce": "baseline",
	} {
		if web.Labels[k] != v {
			t.Errorf("label %s is %q, want %q", k, web.Labels[k], v)
		}
	}
	for _, o := range []client.Object{
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "tenantry"}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team-web", Name: "team"}},
	} {
		if err := api.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			t.Error(err)
		}
	}

	if err := api.Client.Delete(ctx, tn); err != nil {
		t.Fatal(err)
	}
	expectGone(t, api, tn)
	for _, ns := range []string{"team", "apps", "team-web"} {
		if err := api.Client.Get(ctx, client.ObjectKey{Name: ns}, namespace("")); !apierrors.IsNotFound(err) {
			t.Errorf("namespace %s is left: %v", ns, err)
		}
	}
	testkit.Eventually(t, 5*time.Second, "no binding is left", func() error {
		crbs := &rbacv1.ClusterRoleBindingList{}
		if err := api.Client.List(ctx, crbs); err != nil {
			return err
		}
		for _, b := range crbs.Items {
			for _, s := range b.Subjects {
				if s.Namespace == "team" || strings.HasPrefix(s.Name, "team") {
					return fmt.Errorf("%s names %s", b.Name, s.Name)
				}
			}
		}
		return nil
	})
}

// A burst of creates gets past the verb grow, which is taken away only after they
// are counted. What is past the limit must stay without access and go.
func TestTwelveParallelCreatesAgainstALimitOfFive(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "burst", selfService(5))
	defer func() { _ = api.Client.Delete(ctx, tn); expectGone(t, api, tn) }()
	expectReady(t, api, "burst")
	owner := api.As(t, "burst-owner")
	testkit.Eventually(t, 5*time.Second, "the owner may create namespaces", func() error {
		return owner.Create(ctx, namespace("burst-probe"), client.DryRunAll)
	})
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() { _ = owner.Create(ctx, namespace(fmt.Sprintf("burst-%02d", i))) })
	}
	group.Wait()
	testkit.Eventually(t, 20*time.Second, "five namespaces are left, all usable", func() error {
		list := &corev1.NamespaceList{}
		if err := api.Client.List(ctx, list, client.MatchingLabels{v1alpha1.TenantLabel: "burst"}); err != nil {
			return err
		}
		var may []string
		for _, ns := range list.Items {
			if ns.Name == "burst" {
				continue
			}
			if usable(ctx, owner, ns.Name) == nil {
				may = append(may, ns.Name)
			}
		}
		if len(may) > 5 {
			t.Fatalf("access to %v", may)
		}
		if len(may) < 5 || len(list.Items) > 6 {
			return fmt.Errorf("usable %v of %d", may, len(list.Items))
		}
		return nil
	})
	err := owner.Create(ctx, namespace("burst-more"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "[namespaces/grow]") {
		t.Errorf("one more is let through or refused for another reason: %v", err)
	}
}

func TestWallsStandWithoutTheController(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	stop := startController(t, api)
	tn := newTenant(t, api, "calm", selfService(10))
	expectReady(t, api, "calm")
	owner := api.As(t, "calm-owner")
	testkit.Eventually(t, 5*time.Second, "the owner may create namespaces", func() error {
		return owner.Create(ctx, namespace("calm-probe"), client.DryRunAll)
	})
	stop()

	if err := owner.Create(ctx, namespace("other-x")); !apierrors.IsForbidden(err) {
		t.Errorf("a foreign name is let through: %v", err)
	}
	if err := owner.Create(ctx, namespace("calm-late")); err != nil {
		t.Errorf("a name of its own is refused: %v", err)
	}
	if err := usable(ctx, owner, "calm-late"); !apierrors.IsForbidden(err) {
		t.Errorf("a namespace that nobody adopted is usable: %v", err)
	}
	free := namespace("platform-own")
	if err := api.Client.Create(ctx, free); err != nil {
		t.Errorf("an admin may not create a namespace: %v", err)
	}
	if err := api.Client.Delete(ctx, free); err != nil {
		t.Errorf("an admin may not delete a namespace: %v", err)
	}
	expectGone(t, api, free)

	startController(t, api)
	testkit.Eventually(t, 10*time.Second, "calm-late is usable after the restart", func() error { return usable(ctx, owner, "calm-late") })
	if err := api.Client.Delete(ctx, tn); err != nil {
		t.Fatal(err)
	}
	expectGone(t, api, tn)
}
