// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// grantVolumes lets a user write volumes, as a platform may have by mistake.
func grantVolumes(t *testing.T, api *testkit.API, user string) client.Client {
	t.Helper()
	name := user + "-volumes"
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"persistentvolumes"}, Verbs: []string{"*"}}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{subjectUser(user)},
		},
	} {
		if err := api.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	c := api.As(t, user)
	testkit.Eventually(t, 30*time.Second, "the grant is known", func() error {
		return c.List(t.Context(), &corev1.PersistentVolumeList{})
	})
	return c
}

func rbac(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
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
	testkit.Eventually(t, 30*time.Second, "the grant is known", func() error {
		return c.Create(t.Context(), probe.DeepCopyObject().(client.Object), client.DryRunAll)
	})
}

// expect checks that a request was let through, or refused by a rule in words that
// Flux reads as a refusal and not as a cue to recreate.
func expect(t *testing.T, err error, policy, rule string) {
	t.Helper()
	if rule == "" {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatal("let through")
	}
	if !apierrors.IsForbidden(err) || testkit.Reason(err) != metav1.StatusReasonForbidden {
		t.Errorf("reason is %q, want Forbidden", testkit.Reason(err))
	}
	if want := "[" + policy + "/" + rule + "]"; !strings.Contains(err.Error(), want) {
		t.Fatalf("not refused by %s: %v", want, err)
	}
	denied(policy+"/"+rule, err.Error())
	if strings.Contains(err.Error(), "immutable") {
		t.Errorf("Flux recreates objects on this message: %v", err)
	}
}
