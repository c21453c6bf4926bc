// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/tenantry/tenantry/api/v1alpha1"

// Bindings keeps ownership and the names of our own bindings with the Tenant, and what
// a tenant gives away among people and its own accounts. Escalation is RBAC's to
// refuse; but an owner holds what it owns by, and could hand it on where nobody would
// look for it.
var Bindings = Policy{
	Name: "bindings",
	Why:  "Who owns a tenant is said in its Tenant: no binding of a tenant's own hands it on, stands in the place of one that Tenantry makes, or lets in accounts from elsewhere.",
	Match: []Match{{
		Group: "rbac.authorization.k8s.io", Resources: []string{"rolebindings"}, Operations: write,
	}},
	Tenants: true, Firm: true,
	Variables: []Variable{
		tenantVariable, namespacesVariable, strangersVariable,
		list("accounts", v1alpha1.AccountsAnnotation),
		{"outsiders", `object.?subjects.orValue([]).filter(s, ` +
			`s.kind == 'ServiceAccount' ? !(` + within("s.?namespace.orValue('')") + ` || (s.?namespace.orValue('') + '/' + s.name) in variables.accounts)` +
			` : s.kind == 'Group' && s.name.startsWith('system:serviceaccounts:') ? !` + within("s.name.substring(23)") +
			` : s.kind == 'User' && s.name.startsWith('system:serviceaccount:') && s.name.split(':').size() == 4 ? !(` + within("s.name.split(':')[2]") + ` || (s.name.split(':')[2] + '/' + s.name.split(':')[3]) in variables.accounts)` +
			` : s.name.startsWith('system:'))`},
	},
	Rules: []Rule{
		{
			ID:      "name",
			CEL:     `request.operation != 'CREATE' || !object.metadata.name.startsWith('tenantry:')`,
			Message: `'a RoleBinding named tenantry:... is made by Tenantry alone: choose another name'`,
		},
		{
			ID:      "role",
			CEL:     `!object.roleRef.name.startsWith('tenantry:') || object.roleRef.name in ['tenantry:admin', 'tenantry:edit', 'tenantry:view']`,
			Message: `object.roleRef.name + ' is not handed on by a binding: ask a platform admin to change the owners of the Tenant'`,
		},
		{
			ID:      "subjects",
			CEL:     `variables.outsiders.size() == 0`,
			Message: `'RoleBinding ' + object.metadata.name + ' lets in ' + variables.outsiders.map(s, s.kind + ' ' + s.?namespace.orValue('') + (has(s.namespace) ? '/' : '') + s.name).join(', ') + ', which is not of tenant ' + variables.tenant + ': bind people, groups of people or accounts of the tenant, or ask a platform admin to add the account to spec.allow.accounts of the Tenant'`,
			Allow:   "spec.allow.accounts",
		},
	},
}

// Roles keeps the virtual verbs out of roles that tenants write.
var Roles = Policy{
	Name: "roles",
	Why:  "The verbs that the policies ask for are given by Tenantry's own roles alone.",
	Match: []Match{{
		Group: "rbac.authorization.k8s.io", Resources: []string{"roles"}, Operations: write,
	}},
	Tenants: true, Firm: true,
	Rules: []Rule{{
		ID:      "verbs",
		CEL:     `object.?rules.orValue([]).all(r, r.?apiGroups.orValue([]).all(g, g != 'tenantry.dev' && g != '*'))`,
		Message: `'a Role of a tenant names no API group tenantry.dev and not all groups: list the groups that it is for'`,
	}},
}
