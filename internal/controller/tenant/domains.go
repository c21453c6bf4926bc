// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/status"
)

// domainClaims are what a tenant is found by when another wants a domain: each domain
// and, as ".parent", every domain that it is below.
func domainClaims(o client.Object) []string {
	var all []string
	for _, d := range o.(*v1alpha1.Tenant).Spec.Domains {
		all = append(all, d)
		for rest := d; ; {
			_, parent, ok := strings.Cut(rest, ".")
			if !ok {
				break
			}
			all = append(all, "."+parent)
			rest = parent
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rivals are tenants that have a domain too, or one above or below it.
func (r *Reconciler) rivals(ctx context.Context, t *v1alpha1.Tenant, domain string) ([]v1alpha1.Tenant, error) {
	keys := []string{domain, "." + domain}
	for rest := domain; ; {
		_, parent, ok := strings.Cut(rest, ".")
		if !ok {
			break
		}
		keys = append(keys, parent)
		rest = parent
	}
	var all []v1alpha1.Tenant
	for _, k := range keys {
		list := &v1alpha1.TenantList{}
		if err := r.List(ctx, list, client.MatchingFields{domainIndex: k}); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			if o.Name != t.Name && !slices.ContainsFunc(all, func(a v1alpha1.Tenant) bool { return a.Name == o.Name }) {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// takenDomains are those of the tenant that another has the better claim to.
func (r *Reconciler) takenDomains(ctx context.Context, t *v1alpha1.Tenant) ([]string, error) {
	if len(t.Spec.Domains) == 0 {
		return nil, nil
	}
	mine, err := r.claim(ctx, t)
	if err != nil {
		return nil, err
	}
	var others []compile.Claim
	for _, d := range t.Spec.Domains {
		rivals, err := r.rivals(ctx, t, d)
		if err != nil {
			return nil, err
		}
		for i := range rivals {
			other, err := r.claim(ctx, &rivals[i])
			if err != nil {
				return nil, err
			}
			others = append(others, other)
		}
	}
	return compile.TakenDomains(mine, others), nil
}

func (r *Reconciler) claim(ctx context.Context, t *v1alpha1.Tenant) (compile.Claim, error) {
	home := &corev1.Namespace{}
	err := client.IgnoreNotFound(r.Get(ctx, client.ObjectKey{Name: t.Name}, home))
	return compile.Claim{Tenant: t, Held: compile.Held(home)}, err
}

// domainsTaken says whose they are.
func (r *Reconciler) domainsTaken(ctx context.Context, t *v1alpha1.Tenant, taken []string) error {
	rivals, err := r.rivals(ctx, t, taken[0])
	if err != nil {
		return err
	}
	var names []string
	for _, o := range rivals {
		names = append(names, o.Name)
	}
	return status.Stall(v1alpha1.ReasonDomainTaken,
		"domain %s, or a part of it, is of tenant %s: take it out of one of the two; until then this tenant does without", list(taken), list(names))
}
