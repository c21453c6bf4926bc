// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/status"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func event(object, message string, at time.Time) *corev1.Event {
	e := &corev1.Event{Message: message, FirstTimestamp: metav1.NewTime(at)}
	e.InvolvedObject = corev1.ObjectReference{Kind: "Kustomization", Namespace: "oil", Name: object}
	return e
}

func denial(policy, message, rule string) string {
	return fmt.Sprintf(`Service/oil/web dry-run failed (Forbidden): services "web" is forbidden: ValidatingAdmissionPolicy 'tenantry-%[1]s' with binding 'tenantry-%[1]s' denied request: %[2]s [%[1]s/%[3]s]`, policy, message, rule)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	got := status.Refusals([]*corev1.Event{
		event("apps", denial("services", "a Service\n of type NodePort", "type"), noon),
		event("apps", denial("services", "a Service of type NodePort", "type"), noon.Add(time.Minute)),
		event("web", denial("helmreleases", "x", "chart.spec.sourceRef"), noon.Add(time.Hour)),
		event("other", "ValidatingAdmissionPolicy 'somebody' with binding 'somebody' denied request: no [services/type]", noon),
		event("other", denial("services", "a rule that somebody made up", "made-up"), noon),
		event("other", "services \"web\" is forbidden: User cannot create", noon),
	}, func(rule string) bool { return rule != "services/made-up" })
	want := []v1alpha1.Refusal{
		{Object: "Kustomization oil/web", Rule: "helmreleases/chart.spec.sourceRef", Message: "x", Since: metav1.NewTime(noon.Add(time.Hour))},
		{Object: "Kustomization oil/apps", Rule: "services/type", Message: "a Service of type NodePort", Since: metav1.NewTime(noon)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	var events []*corev1.Event
	for n := range 100 {
		events = append(events, event(fmt.Sprint(n), denial("services", strings.Repeat("long ", 1000), "type"), noon.Add(time.Duration(n)*time.Second)))
	}
	got := status.Refusals(events, func(string) bool { return true })
	if len(got) != 10 || got[0].Object != "Kustomization oil/99" || len(got[0].Message) > 1024 {
		t.Errorf("%d refusals, the first of %s with %d characters", len(got), got[0].Object, len(got[0].Message))
	}
}

func TestRefusalsGoWithTheSync(t *testing.T) {
	t.Parallel()
	tn := &v1alpha1.Tenant{}
	tn.Name = "oil"
	refusals := []v1alpha1.Refusal{{Object: "Kustomization oil/apps", Rule: "services/type"}, {Object: "ReplicaSet oil-web/web-1", Rule: "pods/registry"}}
	for ready, want := range map[metav1.ConditionStatus]int{metav1.ConditionTrue: 1, metav1.ConditionFalse: 2} {
		s := status.Of(tn, status.Facts{Refusals: refusals, Syncs: []v1alpha1.SyncStatus{{Name: "apps", Ready: ready}}})
		if len(s.Refusals) != want {
			t.Errorf("with a sync that is Ready %s: %d refusals, want %d", ready, len(s.Refusals), want)
		}
	}
}
