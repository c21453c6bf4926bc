// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Claim is a tenant's claim to its domains.
type Claim struct {
	Tenant *v1alpha1.Tenant
	// Held are those that are compiled into its home namespace already.
	Held []string
}

// Held are the domains that a tenant has, by its home namespace.
func Held(home *corev1.Namespace) []string {
	if home.Name == "" || home.Labels[v1alpha1.TenantLabel] != home.Name {
		return nil
	}
	return strings.Split(home.Annotations[v1alpha1.DomainsAnnotation], ",")
}

// TakenDomains are domains of a tenant that another has the better claim to: one that
// holds it already, or part of it, or else the older tenant.
func TakenDomains(mine Claim, others []Claim) []string {
	var taken []string
	for _, d := range mine.Tenant.Spec.Domains {
		if slices.ContainsFunc(others, func(o Claim) bool { return o.Tenant.Name != mine.Tenant.Name && o.beats(mine, d) }) {
			taken = append(taken, d)
		}
	}
	return taken
}

func (c Claim) beats(other Claim, domain string) bool {
	wants, holds := false, false
	for _, d := range c.Tenant.Spec.Domains {
		if overlap(d, domain) {
			wants = true
			holds = holds || slices.Contains(c.Held, d)
		}
	}
	if !wants {
		return false
	}
	if held := slices.Contains(other.Held, domain); holds != held {
		return holds
	}
	a, b := c.Tenant, other.Tenant
	return a.CreationTimestamp.Before(&b.CreationTimestamp) || a.CreationTimestamp.Equal(&b.CreationTimestamp) && a.Name < b.Name
}

// overlap tells whether one domain is, or is within, the other.
func overlap(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}
