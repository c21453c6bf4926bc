// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/tenantry/tenantry/internal/policy"
)

// Request is an object that is applied.
type Request struct {
	// User and Groups who ask.
	User   string
	Groups []string
	// Object as it is afterwards, and the resource of its kind.
	Object map[string]any
	// Old is what is there already; nil when the object is new.
	Old        map[string]any
	Kind       schema.GroupVersionKind
	Resource   string
	Namespaced bool
	// Namespace that it is put into, with its labels and annotations; of a Namespace, nil.
	Namespace map[string]any
}

func (r Request) name() string {
	name, _, _ := unstructured.NestedString(r.Object, "metadata", "name")
	return name
}

func (r Request) namespace() string {
	namespace, _, _ := unstructured.NestedString(r.Object, "metadata", "namespace")
	return namespace
}

// Account is the user that a service account is, and its groups.
func Account(namespace, name string) (string, []string) {
	return "system:serviceaccount:" + namespace + ":" + name, []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}

// Denial is a refusal.
type Denial struct {
	// Rule that refuses, as "policy/rule".
	Rule string
	// Message for people: what, why and the mend.
	Message string
}

// Policies are Tenantry's own, each compiled the first time that it is asked.
type Policies struct{ all []*compiled }

type compiled struct {
	policy    *admissionv1.ValidatingAdmissionPolicy
	namespace labels.Selector
	once      sync.Once
	validator validating.Validator
}

// Installed is the set that this version installs.
var Installed = sync.OnceValues(newPolicies)

func newPolicies() (*Policies, error) {
	p := &Policies{}
	for _, o := range policy.Objects() {
		vap, ok := o.(*admissionv1.ValidatingAdmissionPolicy)
		if !ok || *vap.Spec.FailurePolicy != admissionv1.Fail {
			continue // a binding, or one that only tells
		}
		selector, err := metav1.LabelSelectorAsSelector(vap.Spec.MatchConstraints.NamespaceSelector)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", vap.Name, err)
		}
		p.all = append(p.all, &compiled{policy: vap, namespace: selector})
	}
	return p, nil
}

// Deny is what the policies refuse of a request. What a policy can't tell without a
// cluster, because it reads what only an API server fills in, it doesn't refuse here.
func (p *Policies) Deny(ctx context.Context, r Request, rights authorizer.Authorizer) []Denial {
	var all []Denial
	for _, c := range p.all {
		if c.matches(r) {
			all = append(all, c.deny(ctx, r, rights)...)
		}
	}
	return all
}

// matches does as the API server does for policies like ours: by resource and namespace.
func (c *compiled) matches(r Request) bool {
	m := c.policy.Spec.MatchConstraints
	if !slices.ContainsFunc(m.ResourceRules, r.fits) || slices.ContainsFunc(m.ExcludeResourceRules, r.fits) {
		return false
	}
	switch {
	case r.Kind.Kind == "Namespace" && r.Kind.Group == "":
		return c.namespace.Matches(labels.Set((&unstructured.Unstructured{Object: r.Object}).GetLabels()))
	case r.Namespaced:
		return c.namespace.Matches(labels.Set((&unstructured.Unstructured{Object: r.Namespace}).GetLabels()))
	default:
		return true // a selector of namespaces leaves nothing else out
	}
}

func (r Request) fits(rule admissionv1.NamedRuleWithOperations) bool {
	has := func(list []string, want string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, want)
	}
	scoped := rule.Scope == nil || *rule.Scope == admissionv1.AllScopes || (*rule.Scope == admissionv1.NamespacedScope) == r.Namespaced
	// A version that a rule names is the one that it looks at; objects of others are
	// converted for it, and the fields that rules read are the same in all of them.
	return has(rule.APIGroups, r.Kind.Group) && (slices.Contains(rule.Resources, "*/*") || has(rule.Resources, r.Resource)) && scoped &&
		slices.ContainsFunc(rule.Operations, func(o admissionv1.OperationType) bool {
			return o == admissionv1.OperationType(r.operation()) || o == admissionv1.OperationAll
		})
}

func (r Request) operation() admission.Operation {
	if r.Old != nil {
		return admission.Update
	}
	return admission.Create
}

// filled is an object with what the API server always fills in and rules rely on.
func filled(object map[string]any) *unstructured.Unstructured {
	if object["kind"] == "Namespace" && object["apiVersion"] == "v1" && object["spec"] == nil {
		object = maps.Clone(object)
		object["spec"] = map[string]any{}
	}
	return &unstructured.Unstructured{Object: object}
}

func (c *compiled) deny(ctx context.Context, r Request, rights authorizer.Authorizer) []Denial {
	c.once.Do(c.compile)
	object := filled(r.Object)
	var old runtime.Object
	if r.Old != nil {
		old = filled(r.Old)
	}
	resource := r.Kind.GroupVersion().WithResource(r.Resource)
	who := &user.DefaultInfo{Name: r.User, Groups: r.Groups}
	attributes := &admission.VersionedAttributes{
		Attributes:      admission.NewAttributesRecord(object, old, r.Kind, r.namespace(), r.name(), resource, "", r.operation(), nil, true, who),
		VersionedObject: object, VersionedOldObject: old, VersionedKind: r.Kind,
	}
	result := c.validator.Validate(ctx, resource, attributes, nil, namespaceOf(r), celconfig.RuntimeCELCostBudget, rights)
	var all []Denial
	for _, d := range result.Decisions {
		if d.Action != validating.ActionDeny || d.Evaluation != validating.EvalDeny {
			continue
		}
		all = append(all, denial(d.Message))
	}
	return all
}

// denial takes the rule's name off the end of its message.
func denial(message string) Denial {
	if i := strings.LastIndex(message, " ["); i >= 0 && strings.HasSuffix(message, "]") {
		return Denial{Rule: message[i+2 : len(message)-1], Message: message[:i]}
	}
	return Denial{Message: message}
}

func namespaceOf(r Request) *corev1.Namespace {
	if r.Namespace == nil {
		return nil
	}
	ns := &corev1.Namespace{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Namespace, ns); err != nil {
		return nil
	}
	return ns
}

var environmentOf = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// compile makes of a policy what the API server makes of it.
func (c *compiled) compile() {
	spec := c.policy.Spec
	compiler, err := cel.NewCompositedCompiler(environmentOf())
	if err != nil {
		c.validator = validating.NewValidator(nil, nil, nil, nil, spec.FailurePolicy, err)
		return
	}
	vars := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	var variables []cel.NamedExpressionAccessor
	for _, v := range spec.Variables {
		variables = append(variables, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	compiler.CompileAndStoreVariables(variables, vars, environment.StoredExpressions)
	var conditions, validations, messages []cel.ExpressionAccessor
	for i := range spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&spec.MatchConditions[i]))
	}
	for _, v := range spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	var matcher matchconditions.Matcher
	if len(conditions) > 0 {
		matcher = matchconditions.NewMatcher(compiler.CompileCondition(conditions, vars, environment.StoredExpressions), spec.FailurePolicy, "policy", "validate", c.policy.Name)
	}
	c.validator = validating.NewValidator(
		compiler.CompileCondition(validations, vars, environment.StoredExpressions), matcher,
		compiler.CompileCondition(nil, vars, environment.StoredExpressions),
		compiler.CompileCondition(messages, cel.OptionalVariableDeclarations{}, environment.StoredExpressions),
		spec.FailurePolicy, nil)
}
