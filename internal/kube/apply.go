// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Apply writes an object by server-side apply and takes over fields that others
// hold: what Tenantry compiles is the only truth about them. The object is left as
// the API server returned it.
func Apply(ctx context.Context, c client.Client, o *unstructured.Unstructured, opts ...client.ApplyOption) error {
	opts = append([]client.ApplyOption{client.FieldOwner(v1alpha1.FieldManager), client.ForceOwnership}, opts...)
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), opts...); err != nil {
		return fmt.Errorf("apply %s: %w", Describe(o), err)
	}
	return nil
}

// Describe names an object for people.
func Describe(o client.Object) string {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	if o.GetNamespace() == "" {
		return kind + " " + o.GetName()
	}
	return kind + " " + o.GetNamespace() + "/" + o.GetName()
}

// Holds tells whether the live object already is what applying the wanted one would
// make of it: it bears the same digest, so nothing has to be taken away, and every
// wanted field has the wanted value. Fields that others added do not matter.
func Holds(live client.Object, want *unstructured.Unstructured) bool {
	if live.GetAnnotations()[v1alpha1.HashAnnotation] != want.GetAnnotations()[v1alpha1.HashAnnotation] {
		return false
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false
	}
	for key, value := range want.Object {
		switch key {
		case "apiVersion", "kind": // typed objects out of a cache have none
		default:
			if !contains(fields[key], value, amounts[want.GetKind()]) {
				return false
			}
		}
	}
	return true
}

// amounts are the kinds whose strings are quantities, which have several spellings.
var amounts = map[string]bool{"ResourceQuota": true, "LimitRange": true}

func contains(live, want any, amount bool) bool {
	switch want := want.(type) {
	case map[string]any:
		if len(want) == 0 && live == nil {
			return true
		}
		fields, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range want {
			if !contains(fields[key], value, amount) {
				return false
			}
		}
		return true
	case []any:
		items, _ := live.([]any)
		if len(items) != len(want) {
			return false
		}
		for i := range want {
			if !contains(items[i], want[i], amount) {
				return false
			}
		}
		return true
	case string:
		if live == want {
			return true
		}
		return amount && sameQuantity(live, want)
	default:
		return reflect.DeepEqual(live, want)
	}
}

// sameQuantity forgives another spelling of one amount: 1000m and 1.
func sameQuantity(live any, want string) bool {
	s, ok := live.(string)
	if !ok {
		return false
	}
	a, errA := resource.ParseQuantity(s)
	b, errB := resource.ParseQuantity(want)
	return errA == nil && errB == nil && a.Cmp(b) == 0
}
