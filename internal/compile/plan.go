// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Object is a compiled object, holding only the fields that Tenantry owns.
type Object = unstructured.Unstructured

// Plan is everything a Tenant compiles to, grouped by when it may be written.
type Plan struct {
	// Namespaces of the tenant, the home namespace first.
	Namespaces []NamespacePlan
	// Released are namespaces that the Tenant no longer declares.
	Released []string
	// Syncs are the Flux sources and Kustomizations.
	Syncs []*Object
}

// NamespacePlan is one namespace of a tenant.
type NamespacePlan struct {
	v1alpha1.NamespaceStatus
	// Guards are the Namespace and what bounds it. They stand before the first grant.
	Guards []*Object
	// Grants are the RoleBindings.
	Grants []*Object
}

// Objects lists the whole plan in the order of writing.
func (p Plan) Objects() []*Object {
	var all []*Object
	for _, ns := range p.Namespaces {
		all = append(all, ns.Guards...)
		all = append(all, ns.Grants...)
	}
	return append(all, p.Syncs...)
}

// Tenant compiles a Tenant.
func Tenant(t *v1alpha1.Tenant, facts Facts) Plan {
	census := count(t, facts)
	data := dataOf(t, census.namespaces, facts)
	plan := Plan{Released: census.released, Syncs: syncs(t)}
	for _, ns := range census.namespaces {
		p := NamespacePlan{NamespaceStatus: ns}
		if ns.State == v1alpha1.NamespacePending || ns.State == v1alpha1.NamespaceActive {
			p.Guards = guards(t, ns, data)
			p.Grants = grants(t, ns, census.mayGrow)
		}
		plan.Namespaces = append(plan.Namespaces, p)
	}
	return plan
}

// guards are the objects that bound a namespace, the Namespace itself first.
func guards(t *v1alpha1.Tenant, ns v1alpha1.NamespaceStatus, data map[string]string) []*Object {
	all := []*Object{namespace(t, ns, data), account(t, ns.Name)}
	if q := quota(t, ns.Name); q != nil {
		all = append(all, q)
	}
	if l := limits(t, ns.Name); l != nil {
		all = append(all, l)
	}
	return append(all, network(t, ns.Name)...)
}
