// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// TestScenesKnowEveryValue fills every attack for tenants that say nothing: what is not
// there has a reason that a person can read.
func TestScenesKnowEveryValue(t *testing.T) {
	t.Parallel()
	suite, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "oil"}}
	for name, namespaces := range map[string]map[string]*corev1.Namespace{
		"a tenant that is not there yet": nil,
		"a tenant that says nothing":     {"oil": {ObjectMeta: metav1.ObjectMeta{Name: "oil"}}},
		"a tenant with odd lists": {"oil": {ObjectMeta: metav1.ObjectMeta{Name: "oil", Annotations: map[string]string{
			v1alpha1.BucketsAnnotation: "a|b", v1alpha1.SourcesAnnotation: "x", v1alpha1.VerifyAnnotation: "*", v1alpha1.SecretProvidersAnnotation: "other",
		}}}},
	} {
		sc := NewScene(SceneFacts{Tenant: tn, Namespaces: namespaces})
		for _, a := range suite.Attacks {
			for _, try := range []Try{a.Try, a.twin()} {
				if try.May != nil {
					_, err = ask(sc, try)
				} else {
					_, _, err = suite.object(sc, try)
				}
				if err != nil && !errors.As(err, &missing{}) {
					t.Errorf("%s, %s: %v", name, a.ID, err)
				}
			}
			for _, n := range a.Needs {
				if _, ok := sc.Values[n]; !ok && sc.Missing[n] == "" {
					t.Errorf("%s, %s needs %s, which no scene has", name, a.ID, n)
				}
			}
		}
	}
}

// TestJudge holds the one rule of the suite: an error is no defence.
func TestJudge(t *testing.T) {
	t.Parallel()
	passed, ours, other, broken := Answer{Passed: true}, Answer{Wall: "pods/account"}, Answer{Wall: WallRBAC}, Answer{Message: "boom"}
	for name, tc := range map[string]struct {
		attack, twin Answer
		want         Outcome
	}{
		"refused by its wall, and the twin passes": {ours, passed, Held},
		"refused by its wall, and so is the twin":  {ours, ours, NotTested},
		"refused by its wall, and the twin breaks": {ours, broken, NotTested},
		"refused by another wall":                  {other, passed, NotTested},
		"broken":                                   {broken, passed, NotTested},
		"passed":                                   {passed, passed, Through},
		"passed, although the twin does not":       {passed, broken, Through},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, why := judge("pods/account", tc.attack, tc.twin); got != tc.want || (got == NotTested) == (why == "") {
				t.Errorf("%s %q, want %s", got, why, tc.want)
			}
		})
	}
}
