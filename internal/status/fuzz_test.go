// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/tenantry/tenantry/internal/status"
)

// FuzzRefusals reads events that a tenant may write itself.
func FuzzRefusals(f *testing.F) {
	f.Add("dry-run failed (Forbidden): ValidatingAdmissionPolicy 'tenantry-services' with binding 'tenantry-services' denied request: a Service [services/type]", "app")
	f.Add("ValidatingAdmissionPolicy 'tenantry-' with binding '' denied request:  [a/b]", "ü")
	f.Fuzz(func(t *testing.T, message, name string) {
		e := &corev1.Event{Message: message, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "oil", Name: name}}
		for _, r := range status.Refusals([]*corev1.Event{e, e}, func(string) bool { return true }) {
			if len(r.Message) > 1100 || len(r.Object) > 1100 || len(r.Rule) > 130 {
				t.Errorf("a refusal grows: %d %d %d", len(r.Message), len(r.Object), len(r.Rule))
			}
			if utf8.ValidString(message) && !utf8.ValidString(r.Message) || utf8.ValidString(name) && !utf8.ValidString(r.Object) {
				t.Errorf("text is cut within a character: %q %q", r.Message, r.Object)
			}
		}
	})
}
