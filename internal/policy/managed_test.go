// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/testkit"
)

// TestManaged attacks objects that Tenantry keeps as somebody who holds everything
// in the namespace by RBAC, so that only the policy is in the way.
func TestManaged(t *testing.T) {
	api := testkit.Get(t)
	build(t, api, tenant("coal"))
	grantClusterAdminIn(t, api, "coal-web", "coal-root")
	root := api.As(t, "coal-root")
	ctx := t.Context()
	at := metav1.ObjectMeta{Namespace: "coal-web"}
	named := func(name string) metav1.ObjectMeta {
		m := at
		m.Name = name
		return m
	}
	own := &corev1.ConfigMap{ObjectMeta: named("own")}
	if err := api.Client.Create(ctx, own); err != nil {
		t.Fatal(err)
	}
	policy := func() *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: named("tenantry-isolate")}
	}
	binding := func() *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: named("tenantry:admin")}
	}
	account := func() *corev1.ServiceAccount { return &corev1.ServiceAccount{ObjectMeta: named("coal")} }
	merge := func(o client.Object, body string) func() error {
		return func() error {
			opts := patchOptions(merge)
			return root.Patch(background(), o, client.RawPatch(merge, []byte(body)), &opts)
		}
	}
	for name, tc := range map[string]struct {
		do   func() error
		rule string
	}{
		"delete the isolating policy": {func() error { return root.Delete(background(), policy(), client.DryRunAll) }, "keep"},
		"delete the binding":          {func() error { return root.Delete(background(), binding(), client.DryRunAll) }, "keep"},
		"delete all network policies": {func() error {
			return root.DeleteAllOf(background(), policy(), client.InNamespace("coal-web"), client.DryRunAll)
		}, "keep"},
		"delete all bindings": {func() error {
			return root.DeleteAllOf(background(), binding(), client.InNamespace("coal-web"), client.DryRunAll)
		}, "keep"},
		"open the isolating policy":   {merge(policy(), `{"spec":{"podSelector":{"matchLabels":{"app":"other"}}}}`), "keep"},
		"take the mark off":           {merge(policy(), `{"metadata":{"labels":{"tenantry.dev/managed":null}}}`), "keep"},
		"add a subject":               {merge(binding(), `{"subjects":[{"kind":"User","name":"x","apiGroup":"rbac.authorization.k8s.io"}]}`), "keep"},
		"mount the account's token":   {merge(account(), `{"automountServiceAccountToken":true}`), "keep"},
		"set an ownerReference":       {merge(account(), `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"0"}]}}`), "keep"},
		"hold it by a finalizer":      {merge(account(), `{"metadata":{"finalizers":["example.com/stay"]}}`), "keep"},
		"forge the mark on create":    {func() error { return root.Create(background(), marked(named("forged")), client.DryRunAll) }, "keep"},
		"forge the mark on update":    {merge(&corev1.ConfigMap{ObjectMeta: named("own")}, `{"metadata":{"labels":{"tenantry.dev/managed":"true"}}}`), "keep"},
		"forge by server-side apply":  {func() error { return applyMarked(root, "own") }, "keep"},
		"change an object of its own": {merge(&corev1.ConfigMap{ObjectMeta: named("own")}, `{"data":{"a":"b"}}`), ""},
		"delete an object of its own": {func() error { return root.Delete(background(), own.DeepCopy(), client.DryRunAll) }, ""},
		"add a network policy": {func() error {
			return root.Create(background(), &networkingv1.NetworkPolicy{ObjectMeta: named("own")}, client.DryRunAll)
		}, ""},
		"delete all of what is its own": {func() error {
			return root.DeleteAllOf(background(), &corev1.Secret{}, client.InNamespace("coal-web"), client.DryRunAll)
		}, ""},
		"create what carries other marks": {func() error {
			return root.Create(background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "coal-web", Name: "x", Labels: map[string]string{"team": "y"}}}, client.DryRunAll)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tc.do(), "managed", tc.rule)
		})
	}
}

func marked(m metav1.ObjectMeta) *corev1.ConfigMap {
	m.Labels = map[string]string{"tenantry.dev/managed": "true"}
	return &corev1.ConfigMap{ObjectMeta: m}
}

func applyMarked(c client.Client, name string) error {
	opts := patchOptions(apply)
	body := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","namespace":"coal-web","labels":{"tenantry.dev/managed":"true"}}}`
	return c.Patch(background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "coal-web", Name: name}}, client.RawPatch(apply, []byte(body)), &opts)
}
