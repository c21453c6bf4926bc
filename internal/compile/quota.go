// SPDX-License-Identifier: Apache-2.0

package compile

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// boundName is the name of the quota and the limits that Tenantry keeps.
const boundName = "tenantry"

func quota(t *v1alpha1.Tenant, namespace string) *Object {
	if len(t.Spec.Quota) == 0 {
		return nil
	}
	return object(&corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: meta(t.Name, namespace, boundName),
		Spec:       corev1.ResourceQuotaSpec{Hard: t.Spec.Quota},
	})
}

func limits(t *v1alpha1.Tenant, namespace string) *Object {
	if len(t.Spec.Limits) == 0 {
		return nil
	}
	return object(&corev1.LimitRange{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "LimitRange"},
		ObjectMeta: meta(t.Name, namespace, boundName),
		Spec:       corev1.LimitRangeSpec{Limits: t.Spec.Limits},
	})
}
