// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// stampName is the name of the policy that labels new namespaces.
const stampName = "tenantry-stamp"

// candidates is how many words, split at '-', a tenant's name may have for the
// stamp to find it in a namespace's name. Longer ones write the label themselves.
const candidates = 4

// Stamp puts the tenant's label on a namespace that a tenant creates without it:
// the tenant of the account's own namespace, or else the one that the requester
// owns and the name begins with. It is a convenience; Namespaces is the wall that
// checks the result. Clusters before 1.36 do without it.
func Stamp() *admissionv1.MutatingAdmissionPolicy {
	fail := admissionv1.Fail
	p := &admissionv1.MutatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicy",
		},
		ObjectMeta: metav1.ObjectMeta{
			Name: stampName, Labels: Labels(),
			Annotations: map[string]string{v1alpha1.Group + "/why": "A plain Namespace that a tenant creates is labelled with its tenant."},
		},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      &fail,
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: matchResources(Policy{Match: []Match{{
				Resources: []string{"namespaces"}, Operations: []admissionv1.OperationType{admissionv1.Create},
			}}}),
			MatchConditions: conditions(append([]Condition{
				{"unlabelled", `object.metadata.?labels['tenantry.dev/tenant'].orValue('') == ''`},
				{"provisions", may(v1alpha1.VerbProvision)},
			}, exempt(People)...)),
			Variables: stampVariables(),
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: `variables.tenant == '' ? Object{} : ` +
					`Object{metadata: Object.metadata{labels: {'tenantry.dev/tenant': variables.tenant}}}`},
			}},
		},
	}
	return p
}

// stampVariables ask the authorizer once each: a check costs a third of what one
// expression may.
func stampVariables() []admissionv1.Variable {
	home := `request.userInfo.username.startsWith('system:serviceaccount:') ? request.userInfo.username.split(':')[2] : ''`
	all := []admissionv1.Variable{
		{Name: "words", Expression: `object.metadata.?name.orValue('').split('-')`},
		{Name: "name0", Expression: home},
	}
	choice := strings.Builder{}
	for n := 0; n <= candidates; n++ {
		if n > 0 {
			words := make([]string, n)
			for i := range words {
				words[i] = fmt.Sprintf("variables.words[%d]", i)
			}
			all = append(all, admissionv1.Variable{
				Name:       fmt.Sprintf("name%d", n),
				Expression: fmt.Sprintf(`variables.words.size() > %d ? [%s].join('-') : ''`, n, strings.Join(words, ", ")),
			})
		}
		name := fmt.Sprintf("variables.name%d", n)
		all = append(all, admissionv1.Variable{
			Name:       fmt.Sprintf("owns%d", n),
			Expression: fmt.Sprintf(`%s != '' && %s`, name, mayIn(name, v1alpha1.VerbOwn)),
		})
		fmt.Fprintf(&choice, "variables.owns%d ? %s : ", n, name)
	}
	return append(all, admissionv1.Variable{Name: "tenant", Expression: choice.String() + "''"})
}

// StampBinding binds Stamp.
func StampBinding() *admissionv1.MutatingAdmissionPolicyBinding {
	return &admissionv1.MutatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicyBinding",
		},
		ObjectMeta: metav1.ObjectMeta{Name: stampName, Labels: Labels()},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: stampName},
	}
}
