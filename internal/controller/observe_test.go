// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const typesMerge = types.MergePatchType

// listed is every object of a list with its version, in one string.
func listed(t *testing.T, l client.ObjectList) string {
	t.Helper()
	items, err := meta.ExtractList(l)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range items {
		o := i.(client.Object)
		all = append(all, fmt.Sprintf("%s/%s@%s", o.GetNamespace(), o.GetName(), o.GetResourceVersion()))
	}
	return strings.Join(all, " ")
}

// metric is the sum of a counter's series; labels may follow the name in braces.
func metric(t *testing.T, series string) float64 {
	t.Helper()
	name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			has := map[string]bool{}
			for _, l := range m.GetLabel() {
				has[fmt.Sprintf("%s=%q", l.GetName(), l.GetValue())] = true
			}
			wanted := true
			for _, l := range strings.Split(labels, ",") {
				wanted = wanted && (l == "" || has[l])
			}
			if wanted {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
