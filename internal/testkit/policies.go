// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/policy"
)

// Stand writes a set of policies and waits until the API server holds to it.
func Stand(t testing.TB, a *API, all []policy.Policy) {
	t.Helper()
	var set []runtime.Object
	for _, p := range all {
		set = append(set, p.Objects()...)
	}
	applySet(t, a, set)
	for _, mark := range []string{"first-" + policy.Digest(set), policy.Digest(set)} {
		canary, binding := policy.Canary(mark)
		applySet(t, a, []runtime.Object{canary, binding})
		Eventually(t, 30*time.Second, "the policies are held to", func() error {
			err := a.Client.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: policy.CanaryPrefix}}, client.DryRunAll)
			if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "/"+mark+"]") {
				return nil
			}
			return fmt.Errorf("answered %w", err)
		})
	}
}

// Binding is the binding of a policy, by its name alone.
func Binding(name string) client.Object {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func applySet(t testing.TB, a *API, set []runtime.Object) {
	t.Helper()
	for _, o := range set {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		delete(fields, "status")
		u := &unstructured.Unstructured{Object: fields}
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		if err := kube.Apply(context.Background(), a.Client, u); err != nil {
			t.Fatal(err)
		}
	}
}
