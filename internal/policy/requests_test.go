// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/testkit"
)

// patchOptions are those of a dry run; server-side apply forces, as Flux does.
func patchOptions(kind types.PatchType) client.PatchOptions {
	o := client.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "test"}
	if kind == types.ApplyPatchType {
		o.Force = ptr.To(true)
	}
	return o
}

// finalize changes oil-web by its finalize subresource.
func finalize(change func(*corev1.Namespace)) func(client.Client) error {
	return func(c client.Client) error {
		ns := &corev1.Namespace{}
		if err := c.Get(background(), client.ObjectKey{Name: "oil-web"}, ns); err != nil {
			return err
		}
		change(ns)
		return c.SubResource("finalize").Update(background(), ns, client.DryRunAll)
	}
}

func bogusOwner() []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "0"}}
}

func grantNamespaces(t *testing.T, api *testkit.API, user string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"*"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := api.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	granted(t, api.As(t, user), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe"}})
}

func grantClusterAdminIn(t *testing.T, api *testkit.API, namespace, user string) {
	t.Helper()
	grantIn(t, api, namespace, user, "cluster-admin")
}

func grantIn(t *testing.T, api *testkit.API, namespace, user, role string) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	if err := api.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	granted(t, api.As(t, user), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: namespace}})
}

// granted waits until a grant has reached the authorizer, which learns of it by a watch.
func granted(t *testing.T, c client.Client, probe client.Object) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "the grant is known", func() error {
		return c.Create(t.Context(), probe.DeepCopyObject().(client.Object), client.DryRunAll)
	})
}
