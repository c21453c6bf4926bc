// SPDX-License-Identifier: Apache-2.0

package compile

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// account is what Flux impersonates. It mounts into no Pod by itself.
func account(t *v1alpha1.Tenant, namespace string) *Object {
	automount := false
	sa := &corev1.ServiceAccount{
		TypeMeta:                     metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta:                   meta(t.Name, namespace, t.Name),
		AutomountServiceAccountToken: &automount,
	}
	sa.Labels[v1alpha1.FluxTenantLabel] = t.Name
	return object(sa)
}
