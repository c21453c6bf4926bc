// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// unadopted finds namespaces that carry a tenant's label and that its Tenant does not
// have: nobody keeps their walls. And those that a Tenant has and that lost their label:
// no policy looks at them any more.
func unadopted(f *Facts) []Finding {
	return append(unlabelled(f), strangers(f)...)
}

func unlabelled(f *Facts) []Finding {
	var all []Finding
	for _, t := range f.Tenants {
		for _, ns := range t.Status.Namespaces {
			if ns.State == v1alpha1.NamespaceActive && f.tenantOf(ns.Name) != t.Name {
				all = append(all, Finding{
					Severity: Error, Tenant: t.Name, Wall: "namespaces", Object: "Namespace " + ns.Name,
					Message: "is one of tenant " + t.Name + " and is not there with its label " + v1alpha1.TenantLabel + ": no policy looks at it",
					Mend:    "label it again, and see that the controller runs",
				})
			}
		}
	}
	return all
}

func strangers(f *Facts) []Finding {
	states := map[string]map[string]v1alpha1.NamespaceState{}
	for _, t := range f.Tenants {
		states[t.Name] = map[string]v1alpha1.NamespaceState{}
		for _, ns := range t.Status.Namespaces {
			states[t.Name][ns.Name] = ns.State
		}
	}
	var all []Finding
	for i := range f.Namespaces {
		ns := &f.Namespaces[i]
		tenant, claims := ns.Labels[v1alpha1.TenantLabel]
		if !claims {
			continue
		}
		found := Finding{Severity: Warning, Tenant: tenant, Wall: "namespaces", Object: "Namespace " + ns.Name}
		namespaces, there := states[tenant]
		switch {
		case !there:
			found.Message = fmt.Sprintf("claims tenant %q, and there is no such Tenant", tenant)
			found.Mend = "declare the Tenant, or take the label " + v1alpha1.TenantLabel + " off"
		case namespaces[ns.Name] == "":
			found.Message = "claims tenant " + tenant + ", and the Tenant does not have it"
			found.Mend = "see that the controller runs and what the Tenant's status says, or take the label " + v1alpha1.TenantLabel + " off"
		case namespaces[ns.Name] == v1alpha1.NamespaceOverLimit:
			found.Message = "is past the limit of tenant " + tenant + ": nobody has access to it"
			found.Mend = "raise spec.namespaces.selfService.limit of the Tenant, or delete the namespace"
		default:
			continue
		}
		all = append(all, found)
	}
	return all
}
