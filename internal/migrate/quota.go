// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// quantities reads a list of resources, as of spec.hard. What is no quantity stays
// unread and is noted.
func quantities(f field) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, e := range f.entries() {
		if q, ok := quantity(e); ok {
			list[corev1.ResourceName(e.key)] = q
		}
	}
	return list
}

// amount is a quantity that can be computed with: exponents beyond all machines cost
// more time than there is.
var amount = regexp.MustCompile("^[0-9]{1,20}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][0-9]{1,2})?$")

func quantity(f field) (resource.Quantity, bool) {
	text := ""
	if n, ok := f.value.(int64); ok {
		text = resource.NewQuantity(n, resource.DecimalSI).String()
	}
	if s, ok := f.value.(string); ok && amount.MatchString(s) {
		text = s
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 {
		return q, false
	}
	f.done()
	return q, true
}

// lesser holds both quotas.
func lesser(a, b corev1.ResourceList) corev1.ResourceList {
	all := corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{a, b} {
		for name, q := range list {
			if had, ok := all[name]; !ok || q.Cmp(had) < 0 {
				all[name] = q
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
