// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/testkit"
)

func withSync(s *v1alpha1.TenantSpec) {
	s.Syncs = []v1alpha1.Sync{{Name: "apps", Source: v1alpha1.Source{Git: &v1alpha1.GitSource{URL: "https://git.example.com/x/apps"}}}}
}

func remove(t *testing.T, api *testkit.API, tn *v1alpha1.Tenant) {
	t.Helper()
	if err := client.IgnoreNotFound(api.Client.Delete(t.Context(), tn)); err != nil {
		t.Fatal(err)
	}
	expectGone(t, api, tn)
}

func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	stop := startController(t, api)
	tn := newTenant(t, api, "still", func(s *v1alpha1.TenantSpec) {
		selfService(3)(s)
		withSync(s)
		s.Quota = corev1.ResourceList{"limits.cpu": resource.MustParse("1000m")}
		s.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"cpu": resource.MustParse("0.5")}}}
		s.Network.Policies = []v1alpha1.NetworkPolicy{{Name: "extra", Spec: networkingv1.NetworkPolicySpec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{}}}},
		}}}
	})
	expectReady(t, api, "still")
	versions := func() map[string]string {
		all := map[string]string{}
		for _, l := range []client.ObjectList{
			&corev1.NamespaceList{}, &corev1.ServiceAccountList{}, &corev1.ResourceQuotaList{}, &corev1.LimitRangeList{},
			&networkingv1.NetworkPolicyList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{},
			&sourcev1.GitRepositoryList{}, &kustomizev1.KustomizationList{}, &v1alpha1.TenantList{},
		} {
			if err := api.Client.List(ctx, l); err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%T", l)] = listed(t, l)
		}
		return all
	}
	// The last writes of onboarding, a quota's usage for one, come in from elsewhere.
	var before map[string]string
	testkit.Eventually(t, 20*time.Second, "the cluster comes to rest", func() error {
		a := versions()
		time.Sleep(1500 * time.Millisecond)
		if before = versions(); fmt.Sprint(a) != fmt.Sprint(before) {
			return fmt.Errorf("it changes")
		}
		return nil
	})
	// A restart looks at everything once more.
	stop()
	const runs = `controller_runtime_reconcile_total{controller="tenant",result="success"}`
	wroteBefore, ranBefore := metric(t, "tenantry_writes_total"), metric(t, runs)
	startController(t, api)
	testkit.Eventually(t, 10*time.Second, "the restarted controller has looked at the tenant", func() error {
		if metric(t, runs) == ranBefore {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	time.Sleep(time.Second) // what must not happen has no condition to wait for
	if writes := metric(t, "tenantry_writes_total") - wroteBefore; writes != 0 {
		t.Errorf("%v writes", writes)
	}
	if after := versions(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("objects changed:\n%v\n%v", before, after)
	}
	remove(t, api, tn)
}

func TestDriftIsRepaired(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "drift", withSync)
	defer remove(t, api, tn)
	expectReady(t, api, "drift")
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "drift", Name: "tenantry:admin"}}
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "drift", Name: "tenantry-isolate"}}
	sync := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "drift", Name: "apps"}}
	home := namespace("drift")
	for name, tc := range map[string]struct {
		o      client.Object
		change func() error
		holds  func() bool
	}{
		"a deleted policy": {policy, func() error { return api.Client.Delete(ctx, policy.DeepCopy()) },
			func() bool { return true }},
		"an opened policy": {policy, func() error {
			return api.Client.Patch(ctx, policy.DeepCopy(), client.RawPatch(typesMerge, []byte(`{"spec":{"ingress":[{}]}}`)))
		}, func() bool { return len(policy.Spec.Ingress[0].From) == 2 }},
		"an added subject": {binding, func() error {
			return api.Client.Patch(ctx, binding.DeepCopy(), client.RawPatch(typesMerge, []byte(`{"subjects":[{"kind":"Group","name":"everybody","apiGroup":"rbac.authorization.k8s.io"}]}`)))
		}, func() bool { return len(binding.Subjects) == 2 }},
		"another account on the sync": {sync, func() error {
			return api.Client.Patch(ctx, sync.DeepCopy(), client.RawPatch(typesMerge, []byte(`{"spec":{"serviceAccountName":"default"}}`)))
		}, func() bool { return sync.Spec.ServiceAccountName == "drift" }},
		"a lowered Pod Security level": {home, func() error {
			return api.Client.Patch(ctx, home.DeepCopy(), client.RawPatch(typesMerge, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`)))
		}, func() bool { return home.Labels["pod-security.kubernetes.io/enforce"] == "restricted" }},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.change(); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, 5*time.Second, "it is as compiled", func() error {
				if err := api.Client.Get(ctx, client.ObjectKeyFromObject(tc.o), tc.o); err != nil {
					return err
				}
				if !tc.holds() {
					return fmt.Errorf("it is %+v", tc.o)
				}
				return nil
			})
		})
	}
}

func TestCordon(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "frozen", func(s *v1alpha1.TenantSpec) { selfService(3)(s); withSync(s) })
	defer remove(t, api, tn)
	expectReady(t, api, "frozen")
	owner := api.As(t, "frozen-owner")
	testkit.Eventually(t, 5*time.Second, "the owner may work", func() error { return usable(ctx, owner, "frozen") })

	cordon := func(on bool) {
		t.Helper()
		if err := api.Client.Patch(ctx, tn.DeepCopy(), client.RawPatch(typesMerge, []byte(fmt.Sprintf(`{"spec":{"cordoned":%v}}`, on)))); err != nil {
			t.Fatal(err)
		}
	}
	cordon(true)
	expectCondition(t, api, "frozen", v1alpha1.ReadyCondition, v1alpha1.ReasonCordoned)
	testkit.Eventually(t, 5*time.Second, "the owner may no longer write", func() error {
		if err := usable(ctx, owner, "frozen"); !apierrors.IsForbidden(err) {
			return fmt.Errorf("writing gives %w", err)
		}
		if err := owner.Create(ctx, namespace("frozen-x"), client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("creating a namespace gives %w", err)
		}
		return nil
	})
	testkit.Eventually(t, 5*time.Second, "the owner may look", func() error {
		return owner.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("frozen"))
	})
	sync := &kustomizev1.Kustomization{}
	if err := api.Client.Get(ctx, client.ObjectKey{Namespace: "frozen", Name: "apps"}, sync); err != nil || !sync.Spec.Suspend {
		t.Errorf("the sync is not suspended: %v", err)
	}
	cordon(false)
	testkit.Eventually(t, 5*time.Second, "the owner may work again", func() error { return usable(ctx, owner, "frozen") })
}

// A cluster rebuilt from Git makes the namespaces of a tenant that is cordoned there.
func TestACordonFromTheStartCanBeLifted(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "thaw", func(s *v1alpha1.TenantSpec) { s.Cordoned = true })
	defer remove(t, api, tn)
	expectReady(t, api, "thaw")
	owner := api.As(t, "thaw-owner")
	testkit.Eventually(t, 5*time.Second, "the owner is frozen", func() error {
		if err := usable(ctx, owner, "thaw"); err == nil || !strings.Contains(err.Error(), "[cordon/frozen]") {
			return fmt.Errorf("writing gives %w", err)
		}
		return nil
	})
	if err := api.Client.Patch(ctx, tn.DeepCopy(), client.RawPatch(typesMerge, []byte(`{"spec":{"cordoned":false}}`))); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, "the owner works", func() error { return usable(ctx, owner, "thaw") })
}

// What a tenant put in the place of an object to come is not merged into it.
func TestPlantedObjectsAreReplaced(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "sown", func(s *v1alpha1.TenantSpec) {
		s.Sources.Allow = []string{"https://git.example.com/sown/"}
	})
	defer remove(t, api, tn)
	expectReady(t, api, "sown")
	owner := api.As(t, "sown-owner")
	planted := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "sown", Name: "apps", Finalizers: []string{"example.com/stay"}}}
	planted.Spec.URL = "https://git.example.com/sown/evil"
	planted.Spec.Interval = metav1.Duration{Duration: time.Hour}
	planted.Spec.Reference = &sourcev1.GitRepositoryRef{Commit: strings.Repeat("a", 40)}
	testkit.Eventually(t, 5*time.Second, "the owner plants", func() error { return client.IgnoreAlreadyExists(owner.Create(ctx, planted.DeepCopy())) })
	spec := v1alpha1.TenantSpec{}
	withSync(&spec)
	patch := tn.DeepCopy()
	patch.Spec.Syncs = spec.Syncs
	if err := api.Client.Patch(ctx, patch, client.MergeFrom(tn)); err != nil {
		t.Fatal(err)
	}
	expectReady(t, api, "sown")
	got := &sourcev1.GitRepository{}
	if err := api.Client.Get(ctx, client.ObjectKeyFromObject(planted), got); err != nil {
		t.Fatal(err)
	}
	if got.Spec.URL != "https://git.example.com/x/apps" || got.Spec.Reference.Commit != "" || len(got.Finalizers) > 0 || got.Labels[v1alpha1.ManagedLabel] != "sown" {
		t.Errorf("it is %+v %+v", got.ObjectMeta, got.Spec)
	}
}

func TestStalled(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	for _, ns := range []string{"taken", "squatted"} {
		if err := api.Client.Create(ctx, namespace(ns)); err != nil {
			t.Fatal(err)
		}
	}
	if err := api.Client.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "tester"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{"get"}}}}); err != nil {
		t.Fatal(err)
	}
	first := newTenant(t, api, "north", nil)
	defer remove(t, api, first)
	expectReady(t, api, "north")
	for name, tc := range map[string]struct {
		tenant       string
		change       func(*v1alpha1.TenantSpec)
		reason, says string
		mend         func() error
	}{
		"a namespace that is the platform's": {"east", func(s *v1alpha1.TenantSpec) { s.Namespaces.Declared = []string{"taken"} },
			v1alpha1.ReasonNamespaceTaken, "kubectl label namespace taken tenantry.dev/tenant=east",
			func() error {
				return api.Client.Patch(ctx, namespace("taken"), client.RawPatch(typesMerge, []byte(`{"metadata":{"labels":{"tenantry.dev/tenant":"east"}}}`)))
			}},
		"a home namespace that somebody has": {"squatted", nil, v1alpha1.ReasonNamespaceTaken, "namespace squatted exists",
			func() error { return api.Client.Delete(ctx, namespace("squatted")) }},
		"a name within another's":            {"north-sea", nil, v1alpha1.ReasonNameOverlap, "north-sea-...", nil},
		"a namespace within another's names": {"west", func(s *v1alpha1.TenantSpec) { s.Namespaces.Declared = []string{"north-web"} }, v1alpha1.ReasonNamespaceTaken, "fits the names of tenant north", nil},
		"an owner account in no namespace": {"south", func(s *v1alpha1.TenantSpec) {
			s.Owners = []v1alpha1.Owner{{Kind: v1alpha1.OwnerServiceAccount, Name: "ci", Namespace: "build-farm"}}
		}, v1alpha1.ReasonOwnerNamespaceMissing, "namespace build-farm does not exist",
			func() error { return api.Client.Create(ctx, namespace("build-farm")) }},
		"a role that is not there": {"up", func(s *v1alpha1.TenantSpec) { s.Owners[0].ClusterRoles = []string{"nobody"} },
			v1alpha1.ReasonRoleNotFound, "ClusterRole nobody does not exist", nil},
		"a role that may not be bound": {"down", func(s *v1alpha1.TenantSpec) {
			s.Owners[0].ClusterRoles = []string{"tester"}
			s.Namespaces.Declared = []string{"down-x"}
		},
			v1alpha1.ReasonRoleNotGrantable, "aggregate-to-controller", nil},
	} {
		t.Run(name, func(t *testing.T) {
			tn := newTenant(t, api, tc.tenant, tc.change)
			defer remove(t, api, tn)
			got := expectCondition(t, api, tc.tenant, v1alpha1.StalledCondition, tc.reason)
			for _, c := range got.Status.Conditions {
				if c.Type == v1alpha1.StalledCondition && !strings.Contains(c.Message, tc.says) {
					t.Errorf("message %q does not say %q", c.Message, tc.says)
				}
			}
			if tc.mend == nil {
				return
			}
			if err := tc.mend(); err != nil {
				t.Fatal(err)
			}
			expectReady(t, api, tc.tenant)
		})
	}
}

// A tenant that waits for another's names gets them when the other goes.
func TestOverlapEndsWithTheOther(t *testing.T) {
	api := testkit.Get(t)
	startController(t, api)
	first := newTenant(t, api, "deep-sea", selfService(2))
	expectReady(t, api, "deep-sea")
	second := newTenant(t, api, "deep", selfService(2))
	defer remove(t, api, second)
	expectCondition(t, api, "deep", v1alpha1.StalledCondition, v1alpha1.ReasonNameOverlap)
	if err := api.As(t, "deep-owner").Create(t.Context(), namespace("deep-sea-x"), client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("the second may make namespaces of the first: %v", err)
	}
	remove(t, api, first)
	expectReady(t, api, "deep")
}

func TestRetain(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "kept", func(s *v1alpha1.TenantSpec) {
		s.Namespaces.Declared = []string{"kept-apps"}
		s.DeletionPolicy = v1alpha1.DeletionRetain
		withSync(s)
	})
	expectReady(t, api, "kept")
	owner := api.As(t, "kept-owner")
	testkit.Eventually(t, 5*time.Second, "the owner may work", func() error { return usable(ctx, owner, "kept-apps") })
	work := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kept-apps", Name: "work"}}
	if err := owner.Create(ctx, work); err != nil {
		t.Fatal(err)
	}
	remove(t, api, tn)
	if err := api.Client.Get(ctx, client.ObjectKeyFromObject(work), work); err != nil {
		t.Errorf("what was deployed is gone: %v", err)
	}
	ns := namespace("kept-apps")
	if err := api.Client.Get(ctx, client.ObjectKeyFromObject(ns), ns); err != nil || ns.Labels[v1alpha1.TenantLabel] != "" {
		t.Errorf("the namespace is not the platform's again: %v %v", err, ns.Labels)
	}
	testkit.Eventually(t, 5*time.Second, "the owner has no access", func() error {
		if err := usable(ctx, owner, "kept-apps"); !apierrors.IsForbidden(err) {
			return fmt.Errorf("it gives %w", err)
		}
		return nil
	})
	for _, l := range []client.ObjectList{&rbacv1.RoleBindingList{}, &kustomizev1.KustomizationList{}, &networkingv1.NetworkPolicyList{}} {
		if err := api.Client.List(ctx, l, client.MatchingLabels{v1alpha1.TenantLabel: "kept"}); err != nil || listed(t, l) != "" {
			t.Errorf("left: %v %v", listed(t, l), err)
		}
	}
}

func TestALoweredLimitTakesNothingAway(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "shrink", selfService(3))
	defer remove(t, api, tn)
	expectReady(t, api, "shrink")
	owner := api.As(t, "shrink-owner")
	for _, name := range []string{"shrink-a", "shrink-b"} {
		testkit.Eventually(t, 5*time.Second, "created "+name, func() error {
			err := owner.Create(ctx, namespace(name))
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
		testkit.Eventually(t, 5*time.Second, "usable "+name, func() error { return usable(ctx, owner, name) })
	}
	if err := api.Client.Patch(ctx, tn.DeepCopy(), client.RawPatch(typesMerge, []byte(`{"spec":{"namespaces":{"selfService":{"limit":1}}}}`))); err != nil {
		t.Fatal(err)
	}
	got := expectReady(t, api, "shrink")
	if got.Status.NamespaceCount != 3 {
		t.Errorf("namespaces: %+v", got.Status.Namespaces)
	}
	testkit.Eventually(t, 5*time.Second, "one more is refused", func() error {
		if err := owner.Create(ctx, namespace("shrink-c"), client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("it gives %w", err)
		}
		return nil
	})
}
