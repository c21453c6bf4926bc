// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestTypeCheck has the API server check every expression against the schemas of
// the kinds that it matches.
func TestTypeCheck(t *testing.T) {
	api := testkit.Get(t)
	for _, p := range policy.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			o := &admissionv1.ValidatingAdmissionPolicy{}
			testkit.Eventually(t, 30*time.Second, "the controller manager checks the policy", func() error {
				if err := api.Client.Get(t.Context(), client.ObjectKey{Name: p.ObjectName()}, o); err != nil {
					return err
				}
				if o.Status.ObservedGeneration != o.Generation || o.Status.TypeChecking == nil {
					return fmt.Errorf("status is %+v", o.Status)
				}
				return nil
			})
			for _, w := range o.Status.TypeChecking.ExpressionWarnings {
				t.Errorf("%s: %s", w.FieldRef, w.Warning)
			}
		})
	}
}

// TestShape holds every rule to what Flux needs in order not to recreate objects.
func TestShape(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range policy.All() {
		o := p.Object()
		if p.Why == "" || o.Spec.FailurePolicy == nil || *o.Spec.FailurePolicy != admissionv1.Fail {
			t.Errorf("%s: says not why, or fails open", p.Name)
		}
		for i, v := range o.Spec.Validations {
			id := p.Name + "/" + p.Rules[i].ID
			if seen[id] {
				t.Errorf("%s: there twice", id)
			}
			seen[id] = true
			if v.Reason == nil || *v.Reason != metav1.StatusReasonForbidden {
				t.Errorf("%s: reason is not Forbidden", id)
			}
			if strings.Contains(strings.ToLower(v.Message+v.MessageExpression), "immutable") {
				t.Errorf("%s: speaks of immutability", id)
			}
		}
	}
}
