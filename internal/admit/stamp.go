// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Stamped is a Namespace with the label that the policy Stamp puts on it: that of the
// tenant whose account makes it. Accounts alone make things offline, so the other half
// of that policy, for people, is not needed.
func Stamped(r Request, rights *Rights) map[string]any {
	o := &unstructured.Unstructured{Object: r.Object}
	home, ok := strings.CutPrefix(r.User, "system:serviceaccount:")
	if !ok || o.GetLabels()[v1alpha1.TenantLabel] != "" {
		return r.Object
	}
	home, _, _ = strings.Cut(home, ":")
	who := &user.DefaultInfo{Name: r.User, Groups: r.Groups}
	if !rights.may(who, v1alpha1.VerbProvision, v1alpha1.Group, "tenants", "", "") || !rights.may(who, v1alpha1.VerbOwn, v1alpha1.Group, "tenants", home, "") {
		return r.Object
	}
	o = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(r.Object)}
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.TenantLabel] = home
	o.SetLabels(labels)
	return o.Object
}
