// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Cordon freezes the namespaces of a cordoned tenant, whatever bindings its people
// made for themselves before. What the cluster and the platform's own controllers do
// there goes on: they are neither people nor accounts of the tenant.
var Cordon = Policy{
	Name:    "cordon",
	Why:     "Nobody of a cordoned tenant changes anything in its namespaces; while a tenant is off-boarded only its accounts do, to prune.",
	Match:   []Match{{Group: "*", Resources: []string{"*/*"}, Operations: writeDelete, Namespaced: true}},
	Firm:    true,
	Except:  chatter,
	Tenants: true,
	Label:   v1alpha1.CordonLabel,
	When:    []Condition{notFlux},
	Variables: append(slices.Clone(requester),
		Variable{"prunes", `namespaceObject.metadata.labels[?'tenantry.dev/cordoned'].orValue('') == 'offboarding' && variables.home != '' && variables.user.endsWith(':' + variables.tenant)`}),
	Rules: []Rule{{
		ID:      "frozen",
		CEL:     `!variables.ofTenant || variables.prunes`,
		Message: `'tenant ' + variables.tenant + ' is frozen, nothing in namespace ' + request.namespace + ' may be changed: ask a platform admin to lift spec.cordoned'`,
	}},
}
