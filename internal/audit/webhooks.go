// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// webhooks finds those that refuse tenants when they are down.
func webhooks(f *Facts) []Finding {
	var all []Finding
	look := func(object, name string, failure *admissionv1.FailurePolicyType, selector *metav1.LabelSelector) {
		if failure != nil && *failure == admissionv1.Ignore {
			return
		}
		if tenants := f.selected(selector); len(tenants) > 0 {
			all = append(all, Finding{
				Severity: Warning, Wall: "webhooks", Object: object,
				Message: "webhook " + name + " fails closed and sees " + few(tenants) + ": while it is down, their writes are refused",
				Mend:    "set failurePolicy: Ignore if it is no wall, or leave tenants out by namespaceSelector; or see that it is never down",
			})
		}
	}
	for _, c := range f.ValidatingWebhooks {
		for _, w := range c.Webhooks {
			look("ValidatingWebhookConfiguration "+c.Name, w.Name, w.FailurePolicy, w.NamespaceSelector)
		}
	}
	for _, c := range f.MutatingWebhooks {
		for _, w := range c.Webhooks {
			look("MutatingWebhookConfiguration "+c.Name, w.Name, w.FailurePolicy, w.NamespaceSelector)
		}
	}
	return all
}

// selected are the tenants' namespaces that a selector matches.
func (f *Facts) selected(s *metav1.LabelSelector) []string {
	selector := labels.Everything()
	if s != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return nil // the API server refuses such a webhook
		}
	}
	var all []string
	for i := range f.Namespaces {
		ns := &f.Namespaces[i]
		if ns.Labels[v1alpha1.TenantLabel] != "" && selector.Matches(labels.Set(ns.Labels)) {
			all = append(all, ns.Name)
		}
	}
	return all
}
