// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"hash/fnv"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Shards is how many ClusterRoleBindings share the subjects of all tenants. RBAC
// looks through every ClusterRoleBinding on every request, and a binding costs it
// far more than a subject in one; so their number is fixed, and large enough that
// one stays a small object with thousands of tenants.
const Shards = 16

// Shard is the number of the binding that holds a tenant's subjects.
func Shard(tenant string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(tenant)) // a hash never fails
	return int(h.Sum32() % Shards)
}

// ProvisionerName is the name of a shard's ClusterRoleBinding.
func ProvisionerName(shard int) string {
	return fmt.Sprintf("%s-%02d", RoleProvisioner, shard)
}

// MayProvision says whether owners of the tenant may try to create namespaces.
// Whether one is let through is for the admission policy and the verb grow.
func MayProvision(t *v1alpha1.Tenant) bool {
	return t.Spec.Namespaces.SelfService != nil && !t.Spec.Cordoned && t.DeletionTimestamp.IsZero()
}

// Provisioners is the ClusterRoleBinding of one shard, for the given tenants that
// belong to it, or nil when none of them provisions.
func Provisioners(shard int, tenants []*v1alpha1.Tenant) *Object {
	var subjects []rbacv1.Subject
	for _, t := range tenants {
		if Shard(t.Name) == shard && MayProvision(t) {
			subjects = append(subjects, Owners(t)...)
		}
	}
	if len(subjects) == 0 {
		return nil
	}
	return object(&rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{
			Name: ProvisionerName(shard),
			Labels: map[string]string{
				v1alpha1.ManagedLabel:          "true",
				"app.kubernetes.io/managed-by": "tenantry",
			},
		},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: RoleProvisioner},
		Subjects: sorted(subjects),
	})
}
