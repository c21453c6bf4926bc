// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// meta is the metadata of an object that Tenantry makes and keeps.
func meta(tenant, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: ManagedLabels(tenant)}
}

// ManagedLabels are on every object that Tenantry makes for a tenant.
func ManagedLabels(tenant string) map[string]string {
	return map[string]string{
		v1alpha1.TenantLabel:           tenant,
		v1alpha1.ManagedLabel:          tenant,
		"app.kubernetes.io/managed-by": "tenantry",
	}
}

// object makes of a typed object the fields that Tenantry applies, and seals them
// with their digest.
func object(typed any) *Object {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		// Typed API objects always convert; one that doesn't is a bug in this package.
		panic(fmt.Sprintf("compile: %T does not convert: %v", typed, err))
	}
	delete(fields, "status")
	if m, ok := fields["metadata"].(map[string]any); ok && m["creationTimestamp"] == nil {
		delete(m, "creationTimestamp")
	}
	if spec, ok := fields["spec"].(map[string]any); ok && len(spec) == 0 {
		delete(fields, "spec")
	}
	o := &Object{Object: fields}
	seal(o)
	return o
}

func seal(o *Object) {
	bytes, err := json.Marshal(o.Object)
	if err != nil {
		panic(fmt.Sprintf("compile: %s does not marshal: %v", o.GetName(), err))
	}
	sum := sha256.Sum256(bytes)
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.HashAnnotation] = hex.EncodeToString(sum[:8])
	o.SetAnnotations(annotations)
}
