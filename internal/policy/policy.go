// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Policy is one validating policy and its binding.
type Policy struct {
	// Name of the policy, without the prefix "tenantry-".
	Name string
	// Why it exists, for people.
	Why string
	// Match lists what it looks at.
	Match []Match
	// Except lists what it leaves alone although Match covers it.
	Except []Match
	// Tenants narrows it to namespaces that carry a tenant's label.
	Tenants bool
	// Label narrows it further, to namespaces that carry this label.
	Label string
	// When are further conditions of looking at a request at all.
	When []Condition
	// Variables that rules use, in order.
	Variables []Variable
	// Rules that all must hold.
	Rules []Rule
}

// Match is resources of one API group and the operations on them.
type Match struct {
	Group      string
	Resources  []string
	Operations []admissionv1.OperationType
	// Namespaced leaves out cluster-scoped resources, which no selector of namespaces
	// does.
	Namespaced bool
}

// Condition is a named CEL expression that must be true for a policy to apply.
type Condition struct{ Name, CEL string }

// Variable is a named CEL expression.
type Variable struct{ Name, CEL string }

// Rule is one thing that must be true.
type Rule struct {
	// ID names the rule in tests, documents and audits.
	ID string
	// CEL must evaluate to true.
	CEL string
	// Message is a CEL expression for what a person reads: what, why and the mend.
	Message string
}

// Labels are on every constant object of Tenantry.
func Labels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "tenantry",
		"app.kubernetes.io/managed-by": "tenantry",
	}
}

// ObjectName is the name of the policy's objects.
func (p Policy) ObjectName() string { return "tenantry-" + p.Name }

// Object renders the ValidatingAdmissionPolicy.
func (p Policy) Object() *admissionv1.ValidatingAdmissionPolicy {
	fail, forbidden := admissionv1.Fail, metav1.StatusReasonForbidden
	o := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name: p.ObjectName(), Labels: Labels(),
			Annotations: map[string]string{v1alpha1.Group + "/why": p.Why},
		},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: matchResources(p),
			MatchConditions:  conditions(append(append([]Condition{}, p.When...), exempt...)),
		},
	}
	for _, v := range p.Variables {
		o.Spec.Variables = append(o.Spec.Variables, admissionv1.Variable{Name: v.Name, Expression: v.CEL})
	}
	for _, r := range p.Rules {
		o.Spec.Validations = append(o.Spec.Validations, admissionv1.Validation{
			Expression:        r.CEL,
			Message:           fmt.Sprintf("refused by rule %s/%s of Tenantry", p.Name, r.ID),
			MessageExpression: fmt.Sprintf("%s + ' [%s/%s]'", r.Message, p.Name, r.ID),
			Reason:            &forbidden,
		})
	}
	return o
}

// Binding renders the ValidatingAdmissionPolicyBinding.
func (p Policy) Binding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding",
		},
		ObjectMeta: metav1.ObjectMeta{Name: p.ObjectName(), Labels: Labels()},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        p.ObjectName(),
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}

// exempt keeps every policy away from those who stand above tenants. The cheap
// test comes first: the API server stops at the first condition that is false.
var exempt = []Condition{
	{Name: "not-the-cluster", CEL: `!('system:serviceaccounts:kube-system' in request.userInfo.groups) && request.userInfo.username != 'system:kube-controller-manager'`},
	{Name: "not-bypassing", CEL: `!` + may(v1alpha1.VerbBypass)},
}

// may is the CEL for: the requester holds the virtual verb at cluster scope.
func may(verb string) string {
	return fmt.Sprintf(`authorizer.group('%s').resource('tenants').check('%s').allowed()`, v1alpha1.Group, verb)
}

// mayIn is the CEL for: the requester holds the virtual verb in the namespace that
// the given expression names.
func mayIn(namespace, verb string) string {
	return fmt.Sprintf(`authorizer.group('%s').resource('tenants').namespace(%s).check('%s').allowed()`,
		v1alpha1.Group, namespace, verb)
}

func matchResources(p Policy) *admissionv1.MatchResources {
	equivalent := admissionv1.Equivalent
	m := &admissionv1.MatchResources{
		MatchPolicy:       &equivalent,
		NamespaceSelector: &metav1.LabelSelector{},
		ObjectSelector:    &metav1.LabelSelector{},
	}
	var keys []string
	if p.Tenants {
		keys = append(keys, v1alpha1.TenantLabel)
	}
	if p.Label != "" {
		keys = append(keys, p.Label)
	}
	for _, key := range keys {
		m.NamespaceSelector.MatchExpressions = append(m.NamespaceSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists})
	}
	m.ResourceRules = rules(p.Match)
	m.ExcludeResourceRules = rules(p.Except)
	return m
}

func rules(match []Match) []admissionv1.NamedRuleWithOperations {
	var all []admissionv1.NamedRuleWithOperations
	for _, r := range match {
		scope := admissionv1.AllScopes
		if r.Namespaced {
			scope = admissionv1.NamespacedScope
		}
		all = append(all, admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: r.Operations,
			Rule: admissionv1.Rule{
				APIGroups: []string{r.Group}, APIVersions: []string{"*"}, Resources: r.Resources, Scope: &scope,
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

var (
	write       = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	writeDelete = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete}
)
