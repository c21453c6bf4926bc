// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// census is which namespaces a tenant has, and whether it may make another.
type census struct {
	namespaces []v1alpha1.NamespaceStatus
	released   []string
	mayGrow    bool
}

// count sorts a tenant's namespaces by origin and holds the self-service ones to
// the limit. One that has access keeps it when the limit is lowered; among the
// others the oldest go first, so that a burst past the limit ends the same way
// whoever counts.
func count(t *v1alpha1.Tenant, facts Facts) census {
	c := census{}
	existing := map[string]Namespace{}
	for _, ns := range facts.Namespaces {
		existing[ns.Name] = ns
	}
	kept := append([]string{t.Name}, t.Spec.Namespaces.Declared...)
	for i, name := range kept {
		origin := v1alpha1.OriginDeclared
		if i == 0 {
			origin = v1alpha1.OriginHome
		}
		c.namespaces = append(c.namespaces, status(name, origin, existing[name]))
		delete(existing, name)
	}

	var self []Namespace
	for _, ns := range existing {
		switch {
		case ns.Managed: // made for this tenant, and no longer declared
			c.released = append(c.released, ns.Name)
		case !strings.HasPrefix(ns.Name, t.Name+"-"):
			c.namespaces = append(c.namespaces, status(ns.Name, v1alpha1.OriginAssigned, ns))
		default:
			self = append(self, ns)
		}
	}
	slices.SortFunc(self, func(a, b Namespace) int {
		return cmp.Or(
			-compareBool(a.Bound, b.Bound),
			a.Created.Compare(b.Created),
			strings.Compare(a.Name, b.Name),
		)
	})
	limit := limitOf(t)
	for i, ns := range self {
		s := status(ns.Name, v1alpha1.OriginSelfService, ns)
		// Without self-service only an admin can have given it to the tenant.
		if t.Spec.Namespaces.SelfService != nil && i >= limit && !ns.Bound && !ns.Terminating {
			s.State = v1alpha1.NamespaceOverLimit
		}
		c.namespaces = append(c.namespaces, s)
	}
	c.mayGrow = len(self) < limit && cordon(t) == ""

	slices.Sort(c.released)
	slices.SortFunc(c.namespaces[1:], func(a, b v1alpha1.NamespaceStatus) int {
		return strings.Compare(a.Name, b.Name)
	})
	return c
}

func limitOf(t *v1alpha1.Tenant) int {
	if t.Spec.Namespaces.SelfService == nil {
		return 0
	}
	return int(t.Spec.Namespaces.SelfService.Limit)
}

func status(name string, origin v1alpha1.NamespaceOrigin, ns Namespace) v1alpha1.NamespaceStatus {
	state := v1alpha1.NamespacePending
	switch {
	case ns.Terminating:
		state = v1alpha1.NamespaceTerminating
	case ns.Bound:
		state = v1alpha1.NamespaceActive
	}
	return v1alpha1.NamespaceStatus{Name: name, Origin: origin, State: state}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
