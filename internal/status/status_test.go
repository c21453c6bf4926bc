// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/status"
)

func TestConditions(t *testing.T) {
	t.Parallel()
	active := v1alpha1.NamespaceStatus{Name: "oil", Origin: v1alpha1.OriginHome, State: v1alpha1.NamespaceActive}
	over := v1alpha1.NamespaceStatus{Name: "oil-x", Origin: v1alpha1.OriginSelfService, State: v1alpha1.NamespaceOverLimit}
	sync := func(ready metav1.ConditionStatus) []v1alpha1.SyncStatus {
		return []v1alpha1.SyncStatus{{Name: "apps", Ready: ready, Message: "why"}}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.TenantSpec)
		facts  status.Facts
		want   map[string]string // type: status/reason
	}{
		"all stands": {nil, status.Facts{Namespaces: []v1alpha1.NamespaceStatus{active}},
			map[string]string{"Ready": "True/Reconciled", "Reconciling": "False/Reconciled", "Stalled": "False/Reconciled", "Synced": "True/NoSyncs"}},
		"a person is needed": {nil, status.Facts{Problem: status.Stall("NameOverlap", "x")},
			map[string]string{"Ready": "False/NameOverlap", "Reconciling": "False/Reconciled", "Stalled": "True/NameOverlap", "Synced": "True/NoSyncs"}},
		"it passes by itself": {nil, status.Facts{Problem: status.Wait("Progressing", "x")},
			map[string]string{"Ready": "False/Progressing", "Reconciling": "True/Progressing", "Stalled": "False/Reconciled", "Synced": "True/NoSyncs"}},
		"past the limit": {nil, status.Facts{Namespaces: []v1alpha1.NamespaceStatus{active, over}},
			map[string]string{"Ready": "True/OverLimit", "Reconciling": "False/Reconciled", "Stalled": "False/Reconciled", "Synced": "True/NoSyncs"}},
		"cordoned": {func(s *v1alpha1.TenantSpec) { s.Cordoned = true }, status.Facts{},
			map[string]string{"Ready": "True/Cordoned", "Reconciling": "False/Reconciled", "Stalled": "False/Reconciled", "Synced": "True/NoSyncs"}},
		"a sync fails": {withSync, status.Facts{Syncs: sync(metav1.ConditionFalse)},
			map[string]string{"Ready": "True/Reconciled", "Reconciling": "False/Reconciled", "Stalled": "False/Reconciled", "Synced": "False/SyncsNotReady"}},
		"a sync is Ready": {withSync, status.Facts{Syncs: sync(metav1.ConditionTrue)},
			map[string]string{"Ready": "True/Reconciled", "Reconciling": "False/Reconciled", "Stalled": "False/Reconciled", "Synced": "True/SyncsReady"}},
		"a sync was not looked at": {withSync, status.Facts{},
			map[string]string{"Ready": "True/Reconciled", "Reconciling": "False/Reconciled", "Stalled": "False/Reconciled", "Synced": "Unknown/Progressing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "oil", Generation: 3}}
			if tc.change != nil {
				tc.change(&tn.Spec)
			}
			s := status.Of(tn, tc.facts)
			got := map[string]string{}
			for _, c := range s.Conditions {
				got[c.Type] = string(c.Status) + "/" + c.Reason
				if c.ObservedGeneration != 3 {
					t.Errorf("%s is of generation %d", c.Type, c.ObservedGeneration)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func withSync(s *v1alpha1.TenantSpec) { s.Syncs = []v1alpha1.Sync{{Name: "apps"}} }

func TestManyOwnersFitOneLine(t *testing.T) {
	t.Parallel()
	tn := &v1alpha1.Tenant{}
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		tn.Spec.Owners = append(tn.Spec.Owners, v1alpha1.Owner{Kind: v1alpha1.OwnerUser, Name: n})
	}
	if got := status.Of(tn, status.Facts{}).Owners; got != "a,b,c +2" {
		t.Errorf("owners are %q", got)
	}
}

func TestAStatusThatSaysTheSameIsTheSame(t *testing.T) {
	t.Parallel()
	tn := &v1alpha1.Tenant{}
	facts := status.Facts{Problem: status.Stall("x", "%s", strings.Repeat("y", 10))}
	tn.Status = status.Of(tn, facts)
	if diff := cmp.Diff(tn.Status, status.Of(tn, facts)); diff != "" {
		t.Error(diff)
	}
}
