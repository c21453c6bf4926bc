// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/tenantry/tenantry/api/v1alpha1"

// Namespaces holds every way to create, change or delete a Namespace. Status and
// finalize are named because both change labels, annotations and ownerReferences
// (CVE-2026-30963, CVE-2026-55636).
var Namespaces = Policy{
	Name: "namespaces",
	Why:  "Tenants create, change and delete namespaces of their own and no others, within their limit, and never the marks that other walls read.",
	Match: []Match{{
		Resources:  []string{"namespaces", "namespaces/status", "namespaces/finalize"},
		Operations: writeDelete,
	}},
	Firm: true,
	Variables: []Variable{
		{"old", `oldObject == null ? '' : oldObject.metadata.?labels['tenantry.dev/tenant'].orValue('')`},
		{"new", `object == null ? variables.old : object.metadata.?labels['tenantry.dev/tenant'].orValue('')`},
		{"tenant", `request.operation == 'CREATE' ? variables.new : variables.old`},
		{"name", `object == null ? oldObject.metadata.name : object.metadata.name`},
		{"provisions", may(v1alpha1.VerbProvision)},
		{"owns", `variables.tenant != '' && ` + mayIn("variables.tenant", v1alpha1.VerbOwn)},
		{"oldLabels", `oldObject == null ? {} : oldObject.metadata.?labels.orValue({})`},
		{"newLabels", `object == null ? variables.oldLabels : object.metadata.?labels.orValue({})`},
		{"oldAnnotations", `oldObject == null ? {} : oldObject.metadata.?annotations.orValue({})`},
		{"newAnnotations", `object == null ? variables.oldAnnotations : object.metadata.?annotations.orValue({})`},
		// Keys that are the platform's: ours on every namespace, the others on a tenant's.
		{"ours", `['tenantry.dev/']`},
		{"theirs", `variables.old == '' && variables.new == '' ? variables.ours : variables.ours + ['pod-security.kubernetes.io/', 'toolkit.fluxcd.io/tenant', 'scheduler.alpha.kubernetes.io/', 'resource.kubernetes.io/admin-access']`},
		{"changedLabels", `variables.newLabels.map(k, variables.theirs.exists(p, k.startsWith(p)) && !(k in variables.oldLabels && variables.oldLabels[k] == variables.newLabels[k]), k) + variables.oldLabels.map(k, variables.theirs.exists(p, k.startsWith(p)) && !(k in variables.newLabels), k)`},
		{"changedAnnotations", `variables.newAnnotations.map(k, variables.theirs.exists(p, k.startsWith(p)) && !(k in variables.oldAnnotations && variables.oldAnnotations[k] == variables.newAnnotations[k]), k) + variables.oldAnnotations.map(k, variables.theirs.exists(p, k.startsWith(p)) && !(k in variables.newAnnotations), k)`},
		// A new namespace may say whose it is, in our label and in Flux's. Later our label is
		// keep-tenant's affair, unless an empty one comes or goes, which says nothing.
		{"reserved", `variables.changedLabels.filter(k, !(k == 'tenantry.dev/tenant' && variables.old != variables.new || request.operation == 'CREATE' && k == 'toolkit.fluxcd.io/tenant' && variables.newLabels[k] == variables.new)) + variables.changedAnnotations`},
	},
	Rules: []Rule{
		{
			ID:      "in-a-tenant",
			CEL:     `!variables.provisions || variables.tenant != ''`,
			Message: `'namespace ' + variables.name + ' belongs to no tenant, and you act for a tenant: ' + (request.operation == 'CREATE' ? 'name it <tenant>-<something> and label it tenantry.dev/tenant: <tenant>' : 'leave it to the platform')`,
		},
		{
			ID:      "own",
			CEL:     `variables.tenant == '' || variables.owns || (request.operation != 'CREATE' && !variables.provisions)`,
			Message: `'namespace ' + variables.name + ' is of tenant ' + variables.tenant + ', which you do not own: ask one of its owners'`,
		},
		{
			ID:      "keep-tenant",
			CEL:     `request.operation != 'UPDATE' || variables.old == variables.new`,
			Message: `'namespace ' + variables.name + ' stays with ' + (variables.old == '' ? 'the platform' : 'tenant ' + variables.old) + ': only a platform admin hands it to another by the label tenantry.dev/tenant'`,
		},
		{
			ID:      "name",
			CEL:     `request.operation != 'CREATE' || variables.new == '' || object.metadata.name.startsWith(variables.new + '-')`,
			Message: `'namespace ' + variables.name + ' does not fit tenant ' + variables.new + ': name it ' + variables.new + '-<something>'`,
		},
		{
			ID:      "reserved",
			CEL:     `variables.reserved.size() == 0`,
			Message: `'namespace ' + variables.name + ': ' + variables.reserved.join(', ') + ' is kept by the platform: leave it out of your manifest'`,
		},
		{
			ID:      "owner-references",
			CEL:     `object == null || (variables.old == '' && variables.new == '') || object.metadata.?ownerReferences.orValue([]) == (oldObject == null ? [] : oldObject.metadata.?ownerReferences.orValue([]))`,
			Message: `'namespace ' + variables.name + ': ownerReferences of a tenant namespace stay as they are, since the garbage collector follows them: leave them out'`,
		},
		{
			ID:      "finalizers",
			CEL:     `object == null || (variables.old == '' && variables.new == '') || object.metadata.?finalizers.orValue([]) == (oldObject == null ? [] : oldObject.metadata.?finalizers.orValue([])) && object.spec.?finalizers.orValue([]) == (oldObject == null ? object.spec.?finalizers.orValue([]) : oldObject.spec.?finalizers.orValue([]))`,
			Message: `'namespace ' + variables.name + ': finalizers of a tenant namespace stay as they are: leave them out'`,
		},
		{
			ID:      "grow",
			CEL:     `request.operation != 'CREATE' || variables.new == '' || ` + mayIn("variables.new", v1alpha1.VerbGrow),
			Message: `'tenant ' + variables.new + ' may make no further namespace, its limit is reached or it is cordoned: delete one, or ask a platform admin to raise spec.namespaces.selfService.limit'`,
		},
		{
			ID:      "frozen",
			CEL:     `variables.oldLabels[?'tenantry.dev/cordoned'].orValue('') != 'true' || !(variables.provisions || variables.owns)`,
			Message: `'namespace ' + variables.name + ' is of tenant ' + variables.old + ', which is frozen: ask a platform admin to lift spec.cordoned'`,
		},
		{
			ID:      "keep-managed",
			CEL:     `request.operation != 'DELETE' || variables.oldLabels[?'tenantry.dev/managed'].orValue('') == '' || variables.oldLabels[?'tenantry.dev/cordoned'].orValue('') == 'offboarding'`,
			Message: `'namespace ' + variables.name + ' is kept by Tenantry: a platform admin removes it from the Tenant ' + variables.old`,
		},
	},
}
