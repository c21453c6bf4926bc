// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestCordon freezes a tenant whose owner has made a binding for itself before.
func TestCordon(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	tn := tenant("reef")
	build(t, api, tn)
	grantIn(t, api, "reef-web", "reef-friend", "tenantry:admin")
	grantIn(t, api, "reef-web", "operator", "cluster-admin")
	label := func(value string) {
		t.Helper()
		for _, name := range []string{"reef", "reef-web"} {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if err := api.Client.Patch(ctx, ns, client.RawPatch(merge, []byte(`{"metadata":{"labels":{"tenantry.dev/cordoned":`+value+`}}}`))); err != nil {
				t.Fatal(err)
			}
		}
	}
	probe := func(c client.Client) error {
		return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "reef-web", Name: "probe"}}, client.DryRunAll)
	}
	user, account := api.As(t, "reef-owner"), api.AsAccount(t, "reef", "reef")
	workload := api.AsAccount(t, "reef-web", "worker")
	grantAccount(t, api, "reef-web", "worker")
	platform := api.AsAccount(t, "monitoring", "agent")
	grantAccount(t, api, "monitoring", "agent")

	label(`"true"`)
	for name, c := range map[string]client.Client{"an owner": user, "a friend": api.As(t, "reef-friend"), "the account": account, "a workload": workload} {
		testkit.Eventually(t, 5*time.Second, name+" is frozen", func() error {
			if err := probe(c); !apierrors.IsForbidden(err) {
				return err
			}
			return nil
		})
		expect(t, probe(c), "cordon", "frozen")
	}
	expect(t, user.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "reef-web"}}, client.DryRunAll), "namespaces", "frozen")
	expect(t, probe(platform), "", "")
	expect(t, probe(api.Client), "", "")

	label(`"offboarding"`)
	testkit.Eventually(t, 5*time.Second, "the account prunes", func() error { return probe(account) })
	expect(t, probe(user), "cordon", "frozen")
	expect(t, probe(workload), "cordon", "frozen")
	// What the account prunes may be a namespace that Tenantry keeps.
	expect(t, account.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "reef"}}, client.DryRunAll), "", "")

	label(`null`)
	testkit.Eventually(t, 5*time.Second, "the owner works again", func() error { return probe(user) })
}

// grantAccount lets an account of any namespace write in reef-web.
func grantAccount(t *testing.T, api *testkit.API, namespace, name string) {
	t.Helper()
	b := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "reef-web", Name: namespace + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "tenantry:edit"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
	}
	if err := api.Client.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	c, err := kube.NewClient(kube.As(api.Config, "system:serviceaccount:"+namespace+":"+name))
	if err != nil {
		t.Fatal(err)
	}
	granted(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "reef-web", Name: "granted"}})
}
