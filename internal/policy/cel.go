// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// exempt keeps policies away from those who stand above tenants. The cheap test
// comes first: the API server stops at the first condition that is false.
func exempt(holds Audience) []Condition {
	bypass := Condition{"not-bypassing", `!` + may(v1alpha1.VerbBypass)}
	switch holds {
	case Everyone:
		return nil
	case Controllers:
		return []Condition{bypass}
	default:
		return []Condition{
			{"not-the-cluster", `!(` + cluster + `)`},
			bypass,
		}
	}
}

// cluster is the CEL for: the requester is one of the cluster's own controllers.
const cluster = `'system:serviceaccounts:kube-system' in request.userInfo.groups || request.userInfo.username == 'system:kube-controller-manager'`

// notFlux leaves out what Flux's own controllers write.
var notFlux = Condition{"not-flux", `!` + may(v1alpha1.VerbReconcile)}

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

// data is the CEL for: the list that a Tenant's compiled data holds under an
// annotation of the namespace. Absent and empty are the same.
func data(annotation string) string {
	return fmt.Sprintf(`namespaceObject.metadata.?annotations[?'%s'].orValue('').split(',').filter(x, x != '')`, annotation)
}

// list is a variable that holds data.
func list(name, annotation string) Variable { return Variable{name, data(annotation)} }

// tenantVariable is the tenant of the request's namespace.
var tenantVariable = Variable{"tenant", `namespaceObject.metadata.labels['tenantry.dev/tenant']`}

// namespacesVariable lists the tenant's namespaces whose names don't begin with its own.
var namespacesVariable = list("namespaces", v1alpha1.NamespacesAnnotation)

// strangersVariable lists namespaces that are not the tenant's although their names are
// like those of its own.
var strangersVariable = list("strangers", v1alpha1.StrangersAnnotation)

// within is the CEL for: the namespace that the expression names is of the request's
// tenant. It needs tenantVariable, namespacesVariable and strangersVariable.
func within(namespace string) string {
	return fmt.Sprintf(`(%[1]s == request.namespace || %[1]s == variables.tenant || %[1]s in variables.namespaces || %[1]s.startsWith(variables.tenant + '-') && !(%[1]s in variables.strangers))`, namespace)
}

// requester are variables that tell whether the requester is of the tenant: a person,
// or an account of one of its namespaces. The cluster's parts and accounts of the
// platform's namespaces are not.
var requester = []Variable{
	tenantVariable, namespacesVariable, strangersVariable,
	{"user", `request.userInfo.username`},
	{"home", `variables.user.startsWith('system:serviceaccount:') ? variables.user.split(':')[2] : ''`},
	{"ofTenant", `!variables.user.startsWith('system:') || (variables.home != '' && ` + within("variables.home") + `)`},
}

// changed lets go of updates that leave a part of the object as it is, as those of
// labels, finalizers and replicas: what was admitted once is not undone by them.
func changed(part string) Condition {
	return Condition{"changed", fmt.Sprintf(`oldObject == null || object.%[1]s != oldObject.%[1]s`, part)}
}

// alive lets go of objects that are being deleted and of which no more than metadata
// changes, so that a finalizer can always be taken off.
var alive = Condition{"alive", `!(has(object.metadata.deletionTimestamp) && oldObject != null && object.spec == oldObject.spec)`}

// address is the CEL for: a URL lies under one of the prefixes in a list. A prefix
// ends in '/', so that none admits a longer host; anything else must match whole.
// What climbs out of a path, also encoded, never matches.
func address(url, list string) string {
	return fmt.Sprintf(`(!%[1]s.contains('..') && !%[1]s.contains('\\') && !%[1]s.lowerAscii().matches('%%(2e|2f|5c)') && %[2]s.exists(p, p.endsWith('/') ? %[1]s.startsWith(p) : %[1]s == p))`, url, list)
}

// named is the CEL for a list in a message.
func named(list string) string {
	return fmt.Sprintf(`(%[1]s.size() == 0 ? 'none' : %[1]s.join(', '))`, list)
}

// ask is the CEL for the end of a message about something that is in no list: what is,
// what to do instead, and where a platform admin adds it.
func ask(list, how, field string) string {
	return `' is not allowed, allowed are: ' + ` + named(list) + ` + '; ` + how + `, or ask a platform admin to add it to ` + field + ` of the Tenant'`
}
