// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestTypeCheck has the API server's own check go over every expression, against the
// schemas of the kinds that it matches.
func TestTypeCheck(t *testing.T) {
	api := testkit.Get(t)
	learn(t, api)
	// The checker learns of new kinds after a while; until then it says nothing of them.
	for _, kind := range []struct{ group, resource string }{
		{"gateway.networking.k8s.io", "httproutes"}, {"external-secrets.io", "pushsecrets"},
		{"snapshot.storage.k8s.io", "volumesnapshots"}, {"image.toolkit.fluxcd.io", "imagerepositories"},
	} {
		testkit.Eventually(t, 90*time.Second, "the checker knows "+kind.resource, func() error {
			wrong := policy.Policy{
				Name: "wrong-" + kind.resource, Match: []policy.Match{{Group: kind.group, Resources: []string{kind.resource}, Operations: []admissionv1.OperationType{admissionv1.Create}}},
				Firm: true, Rules: []policy.Rule{{ID: "wrong", CEL: "object.spec.nonsense == 1", Message: "'x'"}},
			}
			warnings, err := check(t, api, wrong.Objects()[0].(*admissionv1.ValidatingAdmissionPolicy))
			if err == nil && len(warnings) == 0 {
				err = fmt.Errorf("no warning about a field that is not there")
			}
			return err
		})
	}
	for _, o := range policy.Objects() {
		p, ok := o.(*admissionv1.ValidatingAdmissionPolicy)
		if !ok {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			warnings, err := check(t, api, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range warnings {
				t.Errorf("%s: %s", w.FieldRef, w.Warning)
			}
		})
	}
}

// check has a copy of a policy checked that is bound to nothing. The checker passes
// over rules for any version, so the copy names those that are served.
func check(t *testing.T, api *testkit.API, p *admissionv1.ValidatingAdmissionPolicy) ([]admissionv1.ExpressionWarning, error) {
	o := p.DeepCopy()
	o.ResourceVersion = ""
	o.Name = ""
	o.GenerateName = "check-"
	o.Labels = nil
	mapper := mapperOf(t, api)
	for i := range o.Spec.MatchConstraints.ResourceRules {
		rule := &o.Spec.MatchConstraints.ResourceRules[i]
		if rule.APIGroups[0] == "*" || strings.HasPrefix(rule.Resources[0], "*/") {
			continue
		}
		resource, _, _ := strings.Cut(rule.Resources[0], "/")
		versions, err := mapper.ResourcesFor(schema.GroupVersionResource{Group: rule.APIGroups[0], Resource: resource})
		if err != nil {
			return nil, err
		}
		rule.APIVersions = nil
		for _, v := range versions {
			rule.APIVersions = append(rule.APIVersions, v.Version)
		}
	}
	if err := api.Client.Create(t.Context(), o); err != nil {
		return nil, err
	}
	defer func() { _ = api.Client.Delete(background(), o) }() // an API server of the test's own
	deadline := time.Now().Add(30 * time.Second)
	for o.Status.ObservedGeneration != o.Generation || o.Status.TypeChecking == nil {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s was not checked: %+v", p.Name, o.Status)
		}
		time.Sleep(50 * time.Millisecond)
		if err := api.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return nil, err
		}
	}
	return o.Status.TypeChecking.ExpressionWarnings, nil
}

// mapperOf knows the kinds that are served now.
func mapperOf(t *testing.T, api *testkit.API) meta.RESTMapper {
	t.Helper()
	c, err := kube.NewClient(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	return c.RESTMapper()
}

// TestShape holds every rule to what Flux needs in order not to recreate objects.
func TestShape(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range policy.All() {
		if p.Why == "" {
			t.Errorf("%s: says not why", p.Name)
		}
		for _, r := range p.Rules {
			if seen[p.Rule(r)] {
				t.Errorf("%s: there twice", p.Rule(r))
			}
			seen[p.Rule(r)] = true
		}
	}
	for _, o := range policy.Objects() {
		p, ok := o.(*admissionv1.ValidatingAdmissionPolicy)
		if !ok {
			continue
		}
		// What only warns holds nobody up when it can't tell.
		if audits := strings.HasSuffix(p.Name, "-audit"); audits != (*p.Spec.FailurePolicy == admissionv1.Ignore) {
			t.Errorf("%s: failure policy %s", p.Name, *p.Spec.FailurePolicy)
		}
		for _, v := range p.Spec.Validations {
			if v.Reason == nil || *v.Reason != metav1.StatusReasonForbidden {
				t.Errorf("%s: %s: reason is not Forbidden", p.Name, v.Message)
			}
			if strings.Contains(strings.ToLower(v.Message+v.MessageExpression), "immutable") {
				t.Errorf("%s: %s: speaks of immutability", p.Name, v.Message)
			}
		}
	}
}
