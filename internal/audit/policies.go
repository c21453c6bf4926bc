// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tenantry/tenantry/internal/policy"
)

const reinstall = "run tenantry install, which writes it as it was, and see who changed it: only admins may write admissionregistration.k8s.io"

func convert(u *unstructured.Unstructured, into any) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		panic(fmt.Sprintf("audit: %s %s does not convert: %v", u.GetKind(), u.GetName(), err)) // they are our own
	}
}

// policies compares the live policies and bindings with those of this version.
func policies(f *Facts) []Finding {
	var all []Finding
	audited := f.audited()
	for _, rule := range audited {
		all = append(all, Finding{
			Severity: Warning, Wall: rule, Object: "ValidatingAdmissionPolicy tenantry-" + strings.Split(rule, "/")[0] + "-audit",
			Message: "rule " + rule + " only warns, on the whole cluster: Tenantry was installed with --audit " + rule,
			Mend:    "run tenantry install without --audit " + rule + " once nothing warns any more",
		})
	}
	for _, p := range policy.All() {
		for _, o := range p.Objects(audited...) {
			switch want := o.(type) {
			case *admissionv1.ValidatingAdmissionPolicy:
				all = append(all, f.policy(p, want)...)
			case *admissionv1.ValidatingAdmissionPolicyBinding:
				all = append(all, f.binding(p, want)...)
			}
		}
	}
	return all
}

func (f *Facts) policy(p policy.Policy, want *admissionv1.ValidatingAdmissionPolicy) []Finding {
	object := "ValidatingAdmissionPolicy " + want.Name
	i := slices.IndexFunc(f.Policies, func(l admissionv1.ValidatingAdmissionPolicy) bool { return l.Name == want.Name })
	if i < 0 {
		return []Finding{{Severity: severityOf(want.Name), Wall: p.Name, Object: object, Message: "is not there: " + p.Why, Mend: reinstall}}
	}
	live := &f.Policies[i]
	if part := differs(&live.Spec, &want.Spec); part != "" {
		return []Finding{{Severity: severityOf(want.Name), Wall: p.Name, Object: object, Message: part + " is not as this version of Tenantry writes it", Mend: reinstall}}
	}
	var all []Finding
	if live.Status.TypeChecking != nil {
		for _, w := range live.Status.TypeChecking.ExpressionWarnings {
			all = append(all, Finding{
				Severity: Warning, Wall: p.Name, Object: object,
				Message: "type check of " + w.FieldRef + ": " + strings.Join(strings.Fields(w.Warning), " "),
				Mend:    "an API of the cluster has other fields than this version of Tenantry knows: update Tenantry",
			})
		}
	}
	return all
}

// severityOf a policy that only tells is less.
func severityOf(name string) Severity {
	if strings.HasSuffix(name, "-audit") {
		return Warning
	}
	return Error
}

// differs names the part of a policy that is not as it should be.
func differs(live, want *admissionv1.ValidatingAdmissionPolicySpec) string {
	for _, part := range []struct {
		name       string
		live, want any
	}{
		{"spec.failurePolicy", live.FailurePolicy, want.FailurePolicy},
		{"spec.matchConstraints", live.MatchConstraints, want.MatchConstraints},
		{"spec.matchConditions", live.MatchConditions, want.MatchConditions},
		{"spec.variables", live.Variables, want.Variables},
		{"spec.paramKind", live.ParamKind, want.ParamKind},
	} {
		if !equality.Semantic.DeepEqual(part.live, part.want) {
			return part.name
		}
	}
	for _, v := range want.Validations {
		if !slices.ContainsFunc(live.Validations, func(l admissionv1.Validation) bool { return equality.Semantic.DeepEqual(l, v) }) {
			_, rule, _ := strings.Cut(v.Message, "rule ")
			return "the rule " + rule
		}
	}
	if len(live.Validations) != len(want.Validations) {
		return "spec.validations"
	}
	return ""
}

func (f *Facts) binding(p policy.Policy, want *admissionv1.ValidatingAdmissionPolicyBinding) []Finding {
	object := "ValidatingAdmissionPolicyBinding " + want.Name
	i := slices.IndexFunc(f.PolicyBindings, func(l admissionv1.ValidatingAdmissionPolicyBinding) bool { return l.Name == want.Name })
	if i < 0 {
		return []Finding{{Severity: severityOf(want.Name), Wall: p.Name, Object: object, Message: "is not there, so the policy holds nobody", Mend: reinstall}}
	}
	live := f.PolicyBindings[i].Spec
	narrowed := live.MatchResources != nil && !equality.Semantic.DeepEqual(live.MatchResources, &admissionv1.MatchResources{})
	switch {
	case live.PolicyName != want.Spec.PolicyName, narrowed, live.ParamRef != nil:
		return []Finding{{Severity: severityOf(want.Name), Wall: p.Name, Object: object, Message: "is narrowed: it does not bind the policy for all", Mend: reinstall}}
	case !equality.Semantic.DeepEqual(live.ValidationActions, want.Spec.ValidationActions):
		return []Finding{{Severity: severityOf(want.Name), Wall: p.Name, Object: object, Message: fmt.Sprintf("has actions %v, not %v", live.ValidationActions, want.Spec.ValidationActions), Mend: reinstall}}
	}
	return nil
}

// audited are the rules that the cluster was installed with --audit for: their policy
// does not deny, and the one that only tells looks at them everywhere.
func (f *Facts) audited() []string {
	var all []string
	for _, live := range f.Policies {
		if !strings.HasPrefix(live.Name, "tenantry-") || !strings.HasSuffix(live.Name, "-audit") {
			continue
		}
		for _, v := range live.Spec.Validations {
			_, rule, ok := strings.Cut(v.Message, "rule ")
			rule, _, _ = strings.Cut(rule, " ")
			p, _, known := policy.Find(rule)
			if ok && known && !p.Firm && !strings.Contains(v.Expression, "variables.audited") {
				all = append(all, rule)
			}
		}
	}
	return all
}
