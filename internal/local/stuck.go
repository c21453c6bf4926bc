// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stuckRows are workloads that get no further: Pods that fit on no node, and what may not
// make its Pods, as for lack of quota. Flux says of them no more than that they are not
// ready in time.
func stuckRows(ctx context.Context, c client.Client) (Picture, error) {
	var all Picture
	pods, events := &corev1.PodList{}, &corev1.EventList{}
	if err := c.List(ctx, pods, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("status.phase", string(corev1.PodPending))}); err != nil {
		return nil, err
	}
	for _, p := range pods.Items {
		for _, cond := range p.Status.Conditions {
			if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse && cond.Reason == corev1.PodReasonUnschedulable {
				all = append(all, Row{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, Health: Failed, Message: cond.Message})
			}
		}
	}
	if err := c.List(ctx, events, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("reason", "FailedCreate")}); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, e := range events.Items {
		r := Row{Kind: e.InvolvedObject.Kind, Namespace: e.Namespace, Name: e.InvolvedObject.Name, Health: Failed, Message: e.Message}
		if known[r.Key()] {
			continue
		}
		known[r.Key()] = true
		if lacksPods(ctx, c, e.InvolvedObject) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Row) int { return strings.Compare(a.Key(), b.Key()) })
	return all, nil
}

// makers are the kinds that make Pods, by the fields that say how many there are to be and
// how many there are.
var makers = map[string]struct {
	version    string
	want, have []string
}{
	"ReplicaSet":  {"apps/v1", []string{"spec", "replicas"}, []string{"status", "replicas"}},
	"StatefulSet": {"apps/v1", []string{"spec", "replicas"}, []string{"status", "replicas"}},
	"DaemonSet":   {"apps/v1", []string{"status", "desiredNumberScheduled"}, []string{"status", "currentNumberScheduled"}},
	"Job":         {"batch/v1", []string{"spec", "completions"}, []string{"status", "succeeded"}},
}

// lacksPods tells whether something that once could not make a Pod still lacks it. Tenants
// may write Events too: what is said there is asked about and not believed.
func lacksPods(ctx context.Context, c client.Client, ref corev1.ObjectReference) bool {
	maker, known := makers[ref.Kind]
	if !known || ref.Name == "" || ref.Namespace == "" {
		return false
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(maker.version, ref.Kind))
	if err := c.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, o); err != nil {
		return false
	}
	number := func(path ...string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, path...)
		return n
	}
	want, have := number(maker.want...), number(maker.have...)
	if ref.Kind == "Job" {
		want, have = min(want-have, number("spec", "parallelism")), number("status", "active")
	}
	return want > have
}
