// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/tenantry/tenantry/api/v1alpha1"

// Cordon freezes the namespaces of a cordoned tenant, whatever bindings its people
// made for themselves before. What the cluster and the platform's own controllers do
// there goes on: they are neither people nor accounts of the tenant.
var Cordon = Policy{
	Name:    "cordon",
	Why:     "Nobody of a cordoned tenant changes anything in its namespaces; while a tenant is off-boarded only its accounts do, to prune.",
	Match:   []Match{{Group: "*", Resources: []string{"*/*"}, Operations: writeDelete, Namespaced: true}},
	Except:  chatter,
	Tenants: true,
	Label:   v1alpha1.CordonLabel,
	When:    []Condition{{"not-flux", `!` + may(v1alpha1.VerbReconcile)}},
	Variables: []Variable{
		tenantVariable,
		{"user", `request.userInfo.username`},
		{"account", `'system:serviceaccount:'`},
		{"ofTenant", `!variables.user.startsWith('system:') || [variables.tenant + ':', variables.tenant + '-', request.namespace + ':'].exists(p, variables.user.startsWith(variables.account + p))`},
		{"prunes", `namespaceObject.metadata.labels[?'tenantry.dev/cordoned'].orValue('') == 'offboarding' && variables.user.startsWith(variables.account) && variables.user.endsWith(':' + variables.tenant)`},
	},
	Rules: []Rule{{
		ID:      "frozen",
		CEL:     `!variables.ofTenant || variables.prunes`,
		Message: `'tenant ' + variables.tenant + ' is frozen, nothing in namespace ' + request.namespace + ' may be changed: ask a platform admin to lift spec.cordoned'`,
	}},
}
