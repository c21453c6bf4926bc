// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestListsFollowTheTenant sees what a Tenant allows come and go, also on a namespace
// that was made with it.
func TestListsFollowTheTenant(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "lists", func(s *v1alpha1.TenantSpec) {
		s.Namespaces.Declared = []string{"lists-web"}
		s.Allow.ServiceTypes = []v1alpha1.ServiceType{"ClusterIP", "NodePort"}
		s.Allow.Registries = []string{"ghcr.io/lists/"}
	})
	defer remove(t, api, tn)
	expectReady(t, api, "lists")
	owner := api.As(t, "lists-owner")
	if err := owner.Create(ctx, service("lists-web", corev1.ServiceTypeNodePort), client.DryRunAll); err != nil {
		t.Errorf("an allowed type: %v", err)
	}
	if err := owner.Create(ctx, pod("lists-web", "nginx"), client.DryRunAll); !refusedBy(err, "pods/registry") {
		t.Errorf("a foreign image: %v", err)
	}
	change(t, api, tn, func(s *v1alpha1.TenantSpec) { s.Allow = v1alpha1.AllowSpec{} })
	expectReady(t, api, "lists")
	testkit.Eventually(t, 5*time.Second, "the lists are gone", func() error {
		if err := owner.Create(ctx, service("lists-web", corev1.ServiceTypeNodePort), client.DryRunAll); !refusedBy(err, "services/type") {
			return fmt.Errorf("a type that is no longer allowed: %w", err)
		}
		return owner.Create(ctx, pod("lists-web", "nginx"), client.DryRunAll)
	})
}

// TestDomainsAreOneTenants has two tenants want overlapping domains.
func TestDomainsAreOneTenants(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	first := newTenant(t, api, "firsthost", func(s *v1alpha1.TenantSpec) { s.Domains = []string{"shop.example.com"} })
	defer remove(t, api, first)
	expectReady(t, api, "firsthost")
	second := newTenant(t, api, "secondhost", func(s *v1alpha1.TenantSpec) {
		s.Domains = []string{"eu.shop.example.com", "second.example.com"}
	})
	defer remove(t, api, second)
	got := expectCondition(t, api, "secondhost", v1alpha1.StalledCondition, v1alpha1.ReasonDomainTaken)
	if got.Status.NamespaceCount != 1 {
		t.Errorf("the second tenant does not stand without the domain: %+v", got.Status)
	}
	owner := api.As(t, "secondhost-owner")
	if err := owner.Create(ctx, ingress("app.eu.shop.example.com"), client.DryRunAll); !refusedBy(err, "ingresses/host") {
		t.Errorf("a host in the other's domain: %v", err)
	}
	if err := owner.Create(ctx, ingress("second.example.com"), client.DryRunAll); err != nil {
		t.Errorf("a host in its own: %v", err)
	}
	// The older does not take what the younger has.
	change(t, api, first, func(s *v1alpha1.TenantSpec) { s.Domains = []string{"shop.example.com", "second.example.com"} })
	expectCondition(t, api, "firsthost", v1alpha1.StalledCondition, v1alpha1.ReasonDomainTaken)
	if err := owner.Create(ctx, ingress("second.example.com"), client.DryRunAll); err != nil {
		t.Errorf("a host in its own, wanted by the other: %v", err)
	}
	// What is given up is free.
	change(t, api, first, func(s *v1alpha1.TenantSpec) { s.Domains = nil })
	expectReady(t, api, "firsthost")
	expectReady(t, api, "secondhost")
	testkit.Eventually(t, 5*time.Second, "the domain is the second's", func() error {
		return owner.Create(ctx, ingress("app.eu.shop.example.com"), client.DryRunAll)
	})
}

// TestExceptions lets one tenant do what a rule denies, with and without a warning, and
// for a time.
func TestExceptions(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "apart", func(s *v1alpha1.TenantSpec) {
		s.Exceptions = []v1alpha1.Exception{{Rule: "services/type", Reason: "until the gateway is there"}}
	})
	defer remove(t, api, tn)
	expectReady(t, api, "apart")
	owner, warnings := warned(t, api, "apart-owner")
	nodePort := service("apart", corev1.ServiceTypeNodePort)
	try := func() error { return owner.Create(ctx, nodePort.DeepCopy(), client.DryRunAll) }
	if err := try(); err != nil || len(warnings()) > 0 {
		t.Errorf("with an exception: %v, warned of %v", err, warnings())
	}
	outside := nodePort.DeepCopy()
	outside.Spec.ExternalIPs = []string{"203.0.113.7"}
	if err := owner.Create(ctx, outside, client.DryRunAll); !refusedBy(err, "services/external-ips") {
		t.Errorf("another rule of the policy: %v", err)
	}

	change(t, api, tn, func(s *v1alpha1.TenantSpec) { s.Exceptions[0].Action = v1alpha1.ExceptionAudit })
	testkit.Eventually(t, 10*time.Second, "the rule warns", func() error {
		if err := try(); err != nil {
			return err
		}
		if !slices.ContainsFunc(warnings(), func(w string) bool { return strings.Contains(w, "[services/type]") }) {
			return errors.New("no warning")
		}
		return nil
	})

	change(t, api, tn, func(s *v1alpha1.TenantSpec) {
		s.Exceptions[0].Until = ptr.To(metav1.NewTime(time.Now().Add(3 * time.Second)))
	})
	testkit.Eventually(t, 15*time.Second, "the exception ends", func() error {
		if err := try(); !refusedBy(err, "services/type") {
			return fmt.Errorf("answered %w", err)
		}
		return nil
	})

	for _, rule := range []string{"services/nothing", "namespaces/own"} {
		change(t, api, tn, func(s *v1alpha1.TenantSpec) {
			s.Exceptions = []v1alpha1.Exception{{Rule: rule, Reason: "because"}}
		})
		expectCondition(t, api, "apart", v1alpha1.StalledCondition, v1alpha1.ReasonExceptionUnknown)
	}
}

// TestRefusalsAreTold has Kubernetes itself refused on behalf of a tenant.
func TestRefusalsAreTold(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "told", func(s *v1alpha1.TenantSpec) { s.Allow.Registries = []string{"ghcr.io/told/"} })
	defer remove(t, api, tn)
	expectReady(t, api, "told")
	// An admin may make it; the ReplicaSet controller may not make its Pods.
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "told", Name: "web"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
	d.Spec.Template.Spec = pod("told", "nginx").Spec
	if err := api.Client.Create(ctx, d); err != nil {
		t.Fatal(err)
	}
	got := &v1alpha1.Tenant{}
	testkit.Eventually(t, 30*time.Second, "the refusal stands in the status", func() error {
		if err := api.Client.Get(ctx, client.ObjectKeyFromObject(tn), got); err != nil {
			return err
		}
		if len(got.Status.Refusals) != 1 {
			return fmt.Errorf("refusals are %+v", got.Status.Refusals)
		}
		return nil
	})
	r := got.Status.Refusals[0]
	if r.Rule != "pods/registry" || !strings.HasPrefix(r.Object, "ReplicaSet told/web-") || !strings.Contains(r.Message, "docker.io/library/nginx is from no allowed registry") || r.Since.IsZero() {
		t.Errorf("the refusal is %+v", r)
	}
}

// TestDefaultClasses lets tenants use what the cluster gives to those who ask for nothing.
func TestDefaultClasses(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	tn := newTenant(t, api, "classy", nil)
	defer remove(t, api, tn)
	expectReady(t, api, "classy")
	owner := api.As(t, "classy-owner")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "classy", Name: "data"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	try := func() error { return owner.Create(ctx, claim.DeepCopy(), client.DryRunAll) }
	if err := try(); err != nil {
		t.Errorf("without a default class: %v", err)
	}
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "standard"}, Provisioner: "example.com/disk"}
	if err := api.Client.Create(ctx, class); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = api.Client.Delete(ctx, class) }()
	named := claim.DeepCopy()
	named.Spec.StorageClassName = ptr.To("standard")
	if err := owner.Create(ctx, named, client.DryRunAll); !refusedBy(err, "volumeclaims/class") {
		t.Errorf("a class that is not the default: %v", err)
	}
	class.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	if err := api.Client.Update(ctx, class); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "the default class may be used", func() error { return try() })
}

// TestStrangers tells the tenant's namespaces from those that look like its own.
func TestStrangers(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	startController(t, api)
	if err := api.Client.Create(ctx, namespace("certs-manager")); err != nil {
		t.Fatal(err)
	}
	tn := newTenant(t, api, "certs", func(s *v1alpha1.TenantSpec) { s.Namespaces.Declared = []string{"certs-web"} })
	defer remove(t, api, tn)
	expectReady(t, api, "certs")
	owner := api.As(t, "certs-owner")
	let := func(ns string) error {
		b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "certs", Name: "let"}}
		b.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "tenantry:view"}
		b.Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "x"}}
		return owner.Create(ctx, b, client.DryRunAll)
	}
	if err := let("certs-web"); err != nil {
		t.Errorf("an account of the tenant: %v", err)
	}
	if err := let("certs-manager"); !refusedBy(err, "bindings/subjects") {
		t.Errorf("an account of a namespace that was there before: %v", err)
	}
	if err := api.Client.Create(ctx, namespace("certs-later")); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "a namespace that came later is no tenant's", func() error {
		if err := let("certs-later"); !refusedBy(err, "bindings/subjects") {
			return fmt.Errorf("answered %w", err)
		}
		return nil
	})
}

func service(namespace string, kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec:       corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func pod(namespace, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "web", Image: image, SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
	}
}

func ingress(host string) *networkingv1.Ingress {
	o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "secondhost", Name: "web"}}
	o.Spec.Rules = []networkingv1.IngressRule{{Host: host}}
	return o
}

func refusedBy(err error, rule string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "["+rule+"]")
}

// change changes a Tenant's spec.
func change(t *testing.T, api *testkit.API, tn *v1alpha1.Tenant, f func(*v1alpha1.TenantSpec)) {
	t.Helper()
	fresh := &v1alpha1.Tenant{}
	if err := api.Client.Get(t.Context(), client.ObjectKeyFromObject(tn), fresh); err != nil {
		t.Fatal(err)
	}
	before := fresh.DeepCopy()
	f(&fresh.Spec)
	if err := api.Client.Patch(t.Context(), fresh, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// warned is a client whose warnings can be read.
func warned(t *testing.T, api *testkit.API, user string) (client.Client, func() []string) {
	t.Helper()
	w := &warnings{}
	cfg := kube.As(api.Config, user)
	cfg.WarningHandler = w
	c, err := kube.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, func() []string {
		w.Lock()
		defer w.Unlock()
		return slices.Clone(w.all)
	}
}

type warnings struct {
	sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.Lock()
	defer w.Unlock()
	w.all = append(w.all, text)
}
