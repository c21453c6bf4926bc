// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	for _, e := range events.Items {
		lacks, err := lacksPods(ctx, c, e.InvolvedObject)
		if err != nil {
			return nil, err
		}
		r := Row{Kind: e.InvolvedObject.Kind, Namespace: e.Namespace, Name: e.InvolvedObject.Name, Health: Failed, Message: e.Message}
		if lacks && !slices.ContainsFunc(all, func(o Row) bool { return o.Key() == r.Key() }) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Row) int { return strings.Compare(a.Key(), b.Key()) })
	return all, nil
}

// lacksPods tells whether something that once could not make a Pod still lacks it.
func lacksPods(ctx context.Context, c client.Client, ref corev1.ObjectReference) (bool, error) {
	want := map[string][2][]string{
		"ReplicaSet":  {{"spec", "replicas"}, {"status", "replicas"}},
		"StatefulSet": {{"spec", "replicas"}, {"status", "replicas"}},
		"DaemonSet":   {{"status", "desiredNumberScheduled"}, {"status", "currentNumberScheduled"}},
		"Job":         {{"spec", "completions"}, {"status", "succeeded"}},
	}
	paths, known := want[ref.Kind]
	if !known {
		return false, nil
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	if err := c.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, o); apierrors.IsNotFound(err) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read %s %s/%s: %w", ref.Kind, ref.Namespace, ref.Name, err)
	}
	number := func(path []string) int64 {
		n, _, _ := unstructured.NestedInt64(o.Object, path...)
		return n
	}
	active, _, _ := unstructured.NestedInt64(o.Object, "status", "active") // of a Job alone
	return number(paths[0]) > number(paths[1])+active, nil
}
