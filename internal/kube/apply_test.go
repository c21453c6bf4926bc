// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	sealed := metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{v1alpha1.HashAnnotation: "1"}}
	user := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "olivia"}
	want := func(kind string, over map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
			"name": "x", "labels": map[string]any{"a": "b"}, "annotations": map[string]any{v1alpha1.HashAnnotation: "1"},
		}}}
		for k, v := range over {
			o.Object[k] = v
		}
		return o
	}
	subjects := []any{map[string]any{"apiGroup": rbacv1.GroupName, "kind": "User", "name": "olivia"}}
	hard := map[string]any{"spec": map[string]any{"hard": map[string]any{"cpu": "1"}}}
	relabelled := *sealed.DeepCopy()
	relabelled.Labels["a"] = "c"
	more := *sealed.DeepCopy()
	more.Labels["c"] = "d"
	old := *sealed.DeepCopy()
	old.Annotations[v1alpha1.HashAnnotation] = "0"
	number := *sealed.DeepCopy()
	number.Labels["a"] = "b.0"
	for name, tc := range map[string]struct {
		live client.Object
		want *unstructured.Unstructured
		hold bool
	}{
		"the same":                   {&rbacv1.RoleBinding{ObjectMeta: sealed, Subjects: []rbacv1.Subject{user}}, want("RoleBinding", map[string]any{"subjects": subjects}), true},
		"a label of somebody else's": {&rbacv1.RoleBinding{ObjectMeta: more, Subjects: []rbacv1.Subject{user}}, want("RoleBinding", map[string]any{"subjects": subjects}), true},
		"a changed label":            {&rbacv1.RoleBinding{ObjectMeta: relabelled, Subjects: []rbacv1.Subject{user}}, want("RoleBinding", map[string]any{"subjects": subjects}), false},
		"a subject more":             {&rbacv1.RoleBinding{ObjectMeta: sealed, Subjects: []rbacv1.Subject{user, user}}, want("RoleBinding", map[string]any{"subjects": subjects}), false},
		"no subject":                 {&rbacv1.RoleBinding{ObjectMeta: sealed}, want("RoleBinding", map[string]any{"subjects": subjects}), false},
		"compiled from another spec": {&rbacv1.RoleBinding{ObjectMeta: old, Subjects: []rbacv1.Subject{user}}, want("RoleBinding", map[string]any{"subjects": subjects}), false},
		"another spelling of an amount": {&corev1.ResourceQuota{ObjectMeta: sealed, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"cpu": resource.MustParse("1000m")}}},
			want("ResourceQuota", hard), true},
		"another amount": {&corev1.ResourceQuota{ObjectMeta: sealed, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"cpu": resource.MustParse("2")}}},
			want("ResourceQuota", hard), false},
		"a label is no amount": {&corev1.ServiceAccount{ObjectMeta: number}, want("ServiceAccount", nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := kube.Holds(tc.live, tc.want); got != tc.hold {
				t.Errorf("Holds is %v", got)
			}
		})
	}
}
