// SPDX-License-Identifier: Apache-2.0

package policy

// Managed keeps the objects that Tenantry made, and its mark, from everyone else.
// It reads oldObject and no resourceNames, so it holds for DELETECOLLECTION too.
// Namespaces are left to their own policy: tenants may label the ones they have.
var Managed = Policy{
	Name: "managed",
	Why:  "Accounts, bindings, quotas, limits, network policies and syncs that Tenantry keeps for a tenant are changed through its Tenant and in no other way.",
	Match: []Match{
		{Group: "*", Resources: []string{"*/*"}, Operations: writeDelete, Namespaced: true},
		{Group: "rbac.authorization.k8s.io", Resources: []string{"clusterrolebindings"}, Operations: writeDelete},
	},
	Firm:    true,
	Except:  chatter,
	Tenants: true,
	When: []Condition{
		{"marked", `(oldObject != null && oldObject.?metadata.?labels['tenantry.dev/managed'].orValue('') != '') || (object != null && object.?metadata.?labels['tenantry.dev/managed'].orValue('') != '')`},
		notFlux,
	},
	Rules: []Rule{{
		ID:      "keep",
		CEL:     `false`,
		Message: `request.resource.resource + ' ' + (oldObject == null ? object.metadata.?name.orValue('') : oldObject.metadata.name) + (oldObject == null ? ' must not carry the label tenantry.dev/managed: leave it out' : ' is kept by Tenantry: ask a platform admin to change the Tenant instead')`,
	}},
}

// chatter is what is written all the time and says nothing about tenancy, and
// Namespaces, which have a policy of their own.
var chatter = []Match{
	{Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize", "events"}, Operations: writeDelete},
	{Group: "events.k8s.io", Resources: []string{"events"}, Operations: writeDelete},
	{Group: "coordination.k8s.io", Resources: []string{"leases"}, Operations: writeDelete},
}
