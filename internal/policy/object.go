// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

const (
	namePrefix  = "tenantry-"
	auditSuffix = "-audit"
)

// Objects renders every policy with its binding, in the order of installing. Rules
// named in audit warn and are written to the audit log, on the whole cluster, instead
// of denying.
func Objects(audit ...string) []runtime.Object {
	var all []runtime.Object
	for _, p := range All() {
		all = append(all, p.Objects(audit...)...)
	}
	return all
}

// Objects renders the policy that denies and, unless it is firm, the one that only tells.
func (p Policy) Objects(audit ...string) []runtime.Object {
	var all []runtime.Object
	if o := p.enforcing(audit); o != nil {
		all = append(all, o, bind(o.Name, admissionv1.Deny))
	}
	if !p.Firm {
		o := p.auditing(audit)
		all = append(all, o, bind(o.Name, admissionv1.Warn, admissionv1.Audit))
	}
	return all
}

// Labels are on every constant object of Tenantry.
func Labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "tenantry",
		"app.kubernetes.io/managed-by": "tenantry",
	}
}

// ObjectName is the name of the policy's objects.
func (p Policy) ObjectName() string { return namePrefix + p.Name }

// enforcing is the policy that denies. A tenant's exceptions are read from its
// namespace; firm policies know none.
func (p Policy) enforcing(audit []string) *admissionv1.ValidatingAdmissionPolicy {
	o := p.object(p.ObjectName(), admissionv1.Fail)
	for _, r := range p.Rules {
		name := p.Rule(r)
		if !p.Firm && slices.Contains(audit, name) {
			continue
		}
		cel := r.CEL
		if !p.Firm {
			cel = fmt.Sprintf(`'%s' in variables.excepted || (%s)`, name, cel)
		}
		o.Spec.Validations = append(o.Spec.Validations, validation(name, cel, r.Message))
	}
	if len(o.Spec.Validations) == 0 {
		return nil
	}
	if !p.Firm {
		o.Spec.Variables = append(o.Spec.Variables, admissionv1.Variable{Name: "excepted", Expression: data(v1alpha1.ExceptedAnnotation)})
	}
	return o
}

// auditing is the policy that only tells: of rules audited for the tenant, and of
// those audited for all. It looks at nobody else, so it costs others nothing.
func (p Policy) auditing(audit []string) *admissionv1.ValidatingAdmissionPolicy {
	everyone := false
	o := p.object(p.ObjectName()+auditSuffix, admissionv1.Ignore)
	for _, r := range p.Rules {
		name := p.Rule(r)
		cel := r.CEL
		if slices.Contains(audit, name) {
			everyone = true
		} else {
			cel = fmt.Sprintf(`!('%s' in variables.audited) || (%s)`, name, cel)
		}
		o.Spec.Validations = append(o.Spec.Validations, validation(name, cel, r.Message))
	}
	o.Spec.Variables = append(o.Spec.Variables, admissionv1.Variable{Name: "audited", Expression: data(v1alpha1.AuditedAnnotation)})
	if !everyone {
		selector := o.Spec.MatchConstraints.NamespaceSelector
		selector.MatchExpressions = append(selector.MatchExpressions, exists(v1alpha1.AuditLabel))
	}
	return o
}

func (p Policy) object(name string, failure admissionv1.FailurePolicyType) *admissionv1.ValidatingAdmissionPolicy {
	o := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: Labels(),
			Annotations: map[string]string{v1alpha1.Group + "/why": p.Why},
		},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &failure,
			MatchConstraints: matchResources(p),
			MatchConditions:  conditions(append(slices.Clone(p.When), exempt(p.Holds)...)),
		},
	}
	for _, v := range p.Variables {
		o.Spec.Variables = append(o.Spec.Variables, admissionv1.Variable{Name: v.Name, Expression: v.CEL})
	}
	return o
}

// Message is the plain text of a rule's denials, by which it is found again in a policy.
func Message(rule string) string { return "refused by rule " + rule + " of Tenantry" }

func validation(name, cel, message string) admissionv1.Validation {
	forbidden := metav1.StatusReasonForbidden
	return admissionv1.Validation{
		Expression:        cel,
		Message:           Message(name),
		MessageExpression: fmt.Sprintf("%s + ' [%s]'", message, name),
		Reason:            &forbidden,
	}
}

func bind(policy string, actions ...admissionv1.ValidationAction) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding",
		},
		ObjectMeta: metav1.ObjectMeta{Name: policy, Labels: Labels()},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy, ValidationActions: actions},
	}
}

func matchResources(p Policy) *admissionv1.MatchResources {
	equivalent := admissionv1.Equivalent
	m := &admissionv1.MatchResources{
		MatchPolicy:       &equivalent,
		NamespaceSelector: &metav1.LabelSelector{},
		ObjectSelector:    &metav1.LabelSelector{},
	}
	if p.Tenants {
		m.NamespaceSelector.MatchExpressions = append(m.NamespaceSelector.MatchExpressions, exists(v1alpha1.TenantLabel))
	}
	if p.Label != "" {
		m.NamespaceSelector.MatchExpressions = append(m.NamespaceSelector.MatchExpressions, exists(p.Label))
	}
	m.ResourceRules = rules(p.Match)
	m.ExcludeResourceRules = rules(p.Except)
	return m
}

func exists(label string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpExists}
}

func rules(match []Match) []admissionv1.NamedRuleWithOperations {
	var all []admissionv1.NamedRuleWithOperations
	for _, r := range match {
		scope := admissionv1.AllScopes
		if r.Namespaced {
			scope = admissionv1.NamespacedScope
		}
		version := r.Version
		if version == "" {
			version = "*"
		}
		all = append(all, admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: r.Operations,
			Rule: admissionv1.Rule{
				APIGroups: []string{r.Group}, APIVersions: []string{version}, Resources: r.Resources, Scope: &scope,
			},
		}})
	}
	return all
}

func conditions(all []Condition) []admissionv1.MatchCondition {
	var out []admissionv1.MatchCondition
	for _, c := range all {
		out = append(out, admissionv1.MatchCondition{Name: c.Name, Expression: c.CEL})
	}
	return out
}
