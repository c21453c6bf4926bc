// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestAudit opens one wall after the other and reads what audit says of it.
func TestAudit(t *testing.T) {
	api := testkit.Get(t)
	kubeconfig := auditStage(t, api)
	audit := func(args ...string) (int, string, string) {
		return run(t, "", append([]string{"audit", "--kubeconfig", kubeconfig}, args...)...)
	}

	code, out, stderr := audit()
	if code != 0 || !strings.Contains(out, "aud: ") || !strings.Contains(out, " held, 0 got through") {
		t.Fatalf("on a sound cluster: exit code %d\n%s%s", code, out, stderr)
	}
	if !strings.Contains(out, "check flux-lockdown was not made: no Flux controller runs as a Deployment here") {
		t.Errorf("a check that was not made is not told of:\n%s", out)
	}
	if strings.Contains(out, "ERROR") || strings.Contains(out, "WARNING") {
		t.Errorf("findings on a sound cluster:\n%s", out)
	}
	for name, tc := range map[string]struct {
		open func(t *testing.T)
		says []string
	}{
		"a binding of a policy is gone": {
			open: func(t *testing.T) {
				remove(t, api, testkit.Binding("tenantry-services"))
				t.Cleanup(func() { testkit.Stand(t, api, policy.All()) })
			},
			says: []string{
				"ERROR external-ips (tenant aud)", "ValidatingAdmissionPolicyBinding tenantry-services",
				"take in traffic to any address: got through as system:serviceaccount:aud:aud", "mend: run tenantry install",
			},
		},
		"a rule is weakened": {
			open: func(t *testing.T) {
				p := &admissionv1.ValidatingAdmissionPolicy{}
				get(t, api, "tenantry-bindings", p)
				for i := range p.Spec.Validations {
					if strings.Contains(p.Spec.Validations[i].MessageExpression, "bindings/subjects") {
						p.Spec.Validations[i].Expression = "true"
					}
				}
				if err := api.Client.Update(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { testkit.Stand(t, api, policy.All()) })
			},
			says: []string{"ERROR bind-everybody (tenant aud)", "ValidatingAdmissionPolicy tenantry-bindings", "the rule bindings/subjects of Tenantry is not as this version"},
		},
		"somebody of the tenant may bypass": {
			open: func(t *testing.T) {
				grantCluster(t, api, "oops", rbacv1.PolicyRule{APIGroups: []string{v1alpha1.Group}, Resources: []string{"tenants"}, Verbs: []string{"bypass"}})
			},
			says: []string{
				"ERROR verb-bypass (tenant aud)", "ClusterRoleBinding oops of ClusterRole oops", "it holds the verb bypass, which exempts from policies",
				"ERROR rights-from-elsewhere (tenant aud)", "gives ServiceAccount aud/aud ClusterRole oops on the whole cluster, which bypasses the policies",
			},
		},
		"a role reads others' Secrets": {
			open: func(t *testing.T) {
				grantCluster(t, api, "leak", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list"}})
			},
			says: []string{"ERROR read-flux-secrets (tenant aud)", "ClusterRoleBinding leak of ClusterRole leak", "reads Secrets of others", "mend: remove the binding"},
		},
		"a chart aggregates into tenants": {
			open: func(t *testing.T) {
				create(t, api, &rbacv1.ClusterRole{
					ObjectMeta: metav1.ObjectMeta{Name: "some-chart", Labels: map[string]string{"tenantry.dev/aggregate-to-admin": "true"}},
					Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"resourcequotas", "serviceaccounts/token"}, Verbs: []string{"*"}}},
				})
			},
			says: []string{
				"ERROR aggregated-roles", "ClusterRole some-chart", "changes quotas; takes tokens of accounts",
				"ERROR quota-new (tenant aud)", "of ClusterRole tenantry:admin",
			},
		},
		"a Pod Security level is lowered": {
			open: func(t *testing.T) {
				ns := &corev1.Namespace{}
				get(t, api, "aud-web", ns)
				ns.Labels["pod-security.kubernetes.io/enforce"] = "privileged"
				if err := api.Client.Update(t.Context(), ns); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`))
					if err := api.Client.Patch(context.Background(), ns, patch); err != nil {
						t.Fatal(err)
					}
				})
			},
			says: []string{"ERROR privileged (tenant aud)", `Namespace aud-web (pod-security.kubernetes.io/enforce: "privileged")`},
		},
		"the controller is given more": {
			open: func(t *testing.T) {
				create(t, api, &rbacv1.ClusterRoleBinding{
					ObjectMeta: metav1.ObjectMeta{Name: "too-much"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
					Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "tenantry-system", Name: "tenantry-controller"}},
				})
			},
			says: []string{"ERROR controller-rights", "ClusterRoleBinding too-much", "ERROR controller-secrets"},
		},
		"a namespace claims a tenant that is not there": {
			open: func(t *testing.T) {
				create(t, api, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lost", Labels: map[string]string{v1alpha1.TenantLabel: "nobody"}}})
			},
			says: []string{"WARNING namespaces (tenant nobody)", `Namespace lost: claims tenant "nobody", and there is no such Tenant`},
		},
		"a namespace lost its label": {
			open: func(t *testing.T) {
				ns := &corev1.Namespace{}
				get(t, api, "aud-web", ns)
				label := func(value string) {
					patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"tenantry.dev/tenant":`+value+`}}}`))
					if err := api.Client.Patch(context.Background(), ns, patch); err != nil {
						t.Fatal(err)
					}
				}
				label("null")
				t.Cleanup(func() { label(`"aud"`) })
			},
			says: []string{"ERROR namespaces (tenant aud)", "Namespace aud-web: is one of tenant aud and is not there with its label", "ERROR external-ips (tenant aud)", "the namespace lost its label tenantry.dev/tenant"},
		},
		"a rule only warns, on the whole cluster": {
			open: func(t *testing.T) {
				installer, err := install.New(api.Config)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := installer.Install(t.Context(), false, "services/external-ips"); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if _, err := installer.Install(context.Background(), false); err != nil {
						t.Fatal(err)
					}
				})
			},
			says: []string{"WARNING policies", "rule services/external-ips only warns, on the whole cluster", "1 excepted"},
		},
		"a tenant lets its own Pods read its Secrets": {
			open: func(t *testing.T) {
				create(t, api, &rbacv1.RoleBinding{
					ObjectMeta: metav1.ObjectMeta{Namespace: "aud-web", Name: "own"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "tenantry:edit"},
					Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "aud-web", Name: "default"}},
				})
			},
			says: []string{" 0 got through", "2 excepted"},
		},
		"a webhook of others fails closed": {
			open: func(t *testing.T) {
				none, where := admissionv1.SideEffectClassNone, "https://127.0.0.1:1/"
				create(t, api, &admissionv1.ValidatingWebhookConfiguration{
					ObjectMeta: metav1.ObjectMeta{Name: "vendor"},
					Webhooks: []admissionv1.ValidatingWebhook{{
						Name: "check.vendor.example", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, ClientConfig: admissionv1.WebhookClientConfig{URL: &where},
						NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.TenantLabel: "aud"}},
						Rules:             []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{"CREATE"}, Rule: admissionv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"*"}, Resources: []string{"things"}}}},
					}},
				})
			},
			says: []string{"WARNING webhooks", "ValidatingWebhookConfiguration vendor: webhook check.vendor.example fails closed and sees aud, aud-web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.open(t)
			testkit.Eventually(t, 20*time.Second, "audit tells", func() error {
				code, out, _ := audit()
				wrong := (code == 1) != strings.Contains(out, "ERROR")
				for _, s := range tc.says {
					if !strings.Contains(out, s) || wrong {
						return fmt.Errorf("exit code %d, and no %q in:\n%s", code, s, out)
					}
				}
				return nil
			})
		})
	}
	t.Run("for programs", func(t *testing.T) { auditFormats(t, audit) })
	t.Run("one attack", func(t *testing.T) {
		code, out, _ := audit("aud", "--only", "external-ips")
		if code != 0 || !strings.Contains(out, "1 attack on 1 tenant in") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	t.Run("a tenant that is not there", func(t *testing.T) {
		if code, _, stderr := audit("nobody"); code != 1 || !strings.Contains(stderr, "there is no Tenant nobody on this cluster") {
			t.Errorf("exit code %d, %s", code, stderr)
		}
	})
	t.Run("by one who may not", func(t *testing.T) { auditWithoutRights(t, api) })
}

func auditFormats(t *testing.T, audit func(...string) (int, string, string)) {
	remove := func(code int, out string) string {
		if code != 0 {
			t.Errorf("exit code %d: %s", code, out)
		}
		return out
	}
	_, out, _ := audit("-o", "json")
	var all struct {
		Tenants []struct{ Name string }
		Results []struct{ Outcome string }
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all.Tenants) == 0 || len(all.Results) < 150 {
		t.Errorf("json: %v, %d results", err, len(all.Results))
	}
	code, out, _ := audit("-o", "junit")
	var suites struct {
		Tests  int `xml:"tests,attr"`
		Failed int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal([]byte(remove(code, out)), &suites); err != nil || suites.Tests < 150 || suites.Failed != 0 {
		t.Errorf("junit: %v, %+v", err, suites)
	}
	code, out, _ = audit("-o", "sarif")
	var sarif struct {
		Version string
		Runs    []struct{ Results []any }
	}
	if err := json.Unmarshal([]byte(remove(code, out)), &sarif); err != nil || sarif.Version != "2.1.0" || len(sarif.Runs) != 1 || len(sarif.Runs[0].Results) != 0 {
		t.Errorf("sarif: %v, %+v", err, sarif)
	}
	code, out, _ = audit("-o", "html")
	if out = remove(code, out); !strings.Contains(out, "have Flux apply as itself") || strings.Contains(out, "src=") || strings.Contains(out, "<link") {
		t.Error("html: lacks an attack, or needs a network")
	}
	if code, _, stderr := audit("-o", "xml"); code != 2 || !strings.Contains(stderr, `output "xml" is not known`) {
		t.Errorf("an unknown output: exit code %d, %s", code, stderr)
	}
}

// auditWithoutRights audits as somebody who may only look at tenants.
func auditWithoutRights(t *testing.T, api *testkit.API) {
	create(t, api, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "looker"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"tenants"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list"}},
		{APIGroups: []string{"node.k8s.io", "scheduling.k8s.io"}, Resources: []string{"runtimeclasses", "priorityclasses"}, Verbs: []string{"list"}},
	}})
	create(t, api, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "looker"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "looker"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "looker"}},
	})
	kubeconfig, err := api.Plane.Kubeconfig("looker", "", "looker")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "audit says what it lacks", func() error {
		code, out, stderr := run(t, "", "audit", "--kubeconfig", kubeconfig)
		for _, s := range []string{
			"you may not impersonate serviceaccounts: no attack by an account is tested",
			"check policies was not made: you may not list validatingadmissionpolicies", " 0 held, 0 got through",
		} {
			if code != 1 || !strings.Contains(out, s) || !strings.Contains(stderr, "no attack could be tested") {
				return fmt.Errorf("exit code %d, and no %q in:\n%s%s", code, s, out, stderr)
			}
		}
		return nil
	})
}

// auditStage onboards two tenants.
func auditStage(t *testing.T, api *testkit.API) (kubeconfig string) {
	t.Helper()
	stop := testkit.StartController(t, api)
	for _, name := range []string{"aud", "bud"} {
		tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
		tn.Spec.Owners = []v1alpha1.Owner{{Kind: v1alpha1.OwnerUser, Name: name + "-owner"}}
		tn.Spec.Namespaces.Declared = []string{name + "-web"}
		create(t, api, tn)
	}
	testkit.Eventually(t, 20*time.Second, "the tenants are ready", func() error {
		for _, name := range []string{"aud", "bud"} {
			tn := &v1alpha1.Tenant{}
			get(t, api, name, tn)
			if tn.Status.NamespaceCount != 2 {
				return fmt.Errorf("%s: %+v", name, tn.Status)
			}
		}
		return nil
	})
	stop()
	t.Cleanup(func() {
		stop := testkit.StartController(t, api)
		defer stop()
		for _, name := range []string{"aud", "bud"} {
			remove(t, api, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		testkit.Eventually(t, 30*time.Second, "the tenants go", func() error {
			all := &v1alpha1.TenantList{}
			if err := api.Client.List(context.Background(), all); err != nil || len(all.Items) > 0 {
				return fmt.Errorf("%d are there: %w", len(all.Items), err)
			}
			return nil
		})
	})
	kubeconfig, err := api.Plane.Kubeconfig("auditor", "", "auditor", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// grantCluster gives the account of aud a right on the whole cluster, until the test's end.
func grantCluster(t *testing.T, api *testkit.API, name string, rule rbacv1.PolicyRule) {
	t.Helper()
	create(t, api, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}})
	create(t, api, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "aud", Name: "aud"}},
	})
}

// create makes an object that goes with the test.
func create(t *testing.T, api *testkit.API, o client.Object) {
	t.Helper()
	if err := api.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, tenant := o.(*v1alpha1.Tenant); !tenant {
		t.Cleanup(func() {
			remove(t, api, o)
			if _, namespace := o.(*corev1.Namespace); namespace {
				gone(t, api, o)
			}
		})
	}
}

// gone waits for the namespace controller: what comes next must not see a Namespace that is on its way out.
func gone(t *testing.T, api *testkit.API, o client.Object) {
	t.Helper()
	testkit.Eventually(t, 30*time.Second, o.GetName()+" is gone", func() error {
		err := api.Client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there still: %w", err)
	})
}

func remove(t *testing.T, api *testkit.API, o client.Object) {
	t.Helper()
	if err := client.IgnoreNotFound(api.Client.Delete(context.Background(), o)); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, api *testkit.API, name string, o client.Object) {
	t.Helper()
	if err := api.Client.Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
		t.Fatal(err)
	}
}
