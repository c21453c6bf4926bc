// SPDX-License-Identifier: Apache-2.0

package policy

// Bindings keeps ownership and the names of our own bindings with the Tenant.
// Escalation is RBAC's to refuse; but an owner holds what it owns by, and could hand
// it on where nobody would look for it.
var Bindings = Policy{
	Name: "bindings",
	Why:  "Who owns a tenant is said in its Tenant: no binding of a tenant's own hands it on, or stands in the place of one that Tenantry makes.",
	Match: []Match{{
		Group: "rbac.authorization.k8s.io", Resources: []string{"rolebindings"}, Operations: write,
	}},
	Tenants: true,
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
	},
}

// Roles keeps the virtual verbs out of roles that tenants write.
var Roles = Policy{
	Name: "roles",
	Why:  "The verbs that the policies ask for are given by Tenantry's own roles alone.",
	Match: []Match{{
		Group: "rbac.authorization.k8s.io", Resources: []string{"roles"}, Operations: write,
	}},
	Tenants: true,
	Rules: []Rule{{
		ID:      "verbs",
		CEL:     `object.?rules.orValue([]).all(r, r.?apiGroups.orValue([]).all(g, g != 'tenantry.dev' && g != '*'))`,
		Message: `'a Role of a tenant names no API group tenantry.dev and not all groups: list the groups that it is for'`,
	}},
}
