// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
)

func TestTakenDomains(t *testing.T) {
	t.Parallel()
	claim := func(name string, age time.Duration, held []string, domains ...string) compile.Claim {
		tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-age))}}
		tn.Spec.Domains = domains
		return compile.Claim{Tenant: tn, Held: held}
	}
	const hour = time.Hour
	for name, tc := range map[string]struct {
		mine, other compile.Claim
		want        []string
	}{
		"nothing in common":            {claim("b", 0, nil, "b.example.com"), claim("a", hour, nil, "a.example.com"), nil},
		"names that end alike":         {claim("b", 0, nil, "shop.example.com"), claim("a", hour, nil, "op.example.com"), nil},
		"the same, younger":            {claim("b", 0, nil, "a.example.com", "b.example.com"), claim("a", hour, nil, "a.example.com"), []string{"a.example.com"}},
		"the same, older":              {claim("b", hour, nil, "a.example.com"), claim("a", 0, nil, "a.example.com"), nil},
		"below, younger":               {claim("b", 0, nil, "x.a.example.com"), claim("a", hour, nil, "a.example.com"), []string{"x.a.example.com"}},
		"above, younger":               {claim("b", 0, nil, "example.com"), claim("a", hour, nil, "a.example.com"), []string{"example.com"}},
		"the same age":                 {claim("b", 0, nil, "a.example.com"), claim("a", 0, nil, "a.example.com"), []string{"a.example.com"}},
		"held by the younger":          {claim("b", 0, []string{"a.example.com"}, "a.example.com"), claim("a", hour, nil, "a.example.com"), nil},
		"older, held by the other":     {claim("b", hour, nil, "a.example.com"), claim("a", 0, []string{"a.example.com"}, "a.example.com"), []string{"a.example.com"}},
		"held by both":                 {claim("b", 0, []string{"a.example.com"}, "a.example.com"), claim("a", hour, []string{"a.example.com"}, "a.example.com"), []string{"a.example.com"}},
		"given up, and held no longer": {claim("b", 0, nil, "a.example.com"), claim("a", hour, []string{"a.example.com"}), nil},
		"itself":                       {claim("b", 0, nil, "a.example.com"), claim("b", 0, nil, "a.example.com"), nil},
	} {
		if got := compile.TakenDomains(tc.mine, []compile.Claim{tc.other}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
