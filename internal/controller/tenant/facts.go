// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/facts"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/status"
)

// facts are what compiling needs to know.
func (r *Reconciler) facts(ctx context.Context, t *v1alpha1.Tenant, live *inventory) (compile.Facts, error) {
	f := compile.Facts{Namespaces: live.observed(), Now: time.Now()}
	namesakes := &corev1.NamespaceList{}
	if err := r.List(ctx, namesakes, client.MatchingFields{prefixIndex: t.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return f, err
	}
	for i := range namesakes.Items {
		if ns := &namesakes.Items[i]; ns.Labels[v1alpha1.TenantLabel] != t.Name {
			f.Strangers = append(f.Strangers, ns.Name)
		}
	}
	var err error
	if f.Defaults, err = facts.Defaults(ctx, r.Client); err != nil {
		return f, err
	}
	f.TakenDomains, err = r.takenDomains(ctx, t)
	return f, err
}

// refusals are what the tenant's namespaces report.
func (r *Reconciler) refusals(ctx context.Context, live *inventory) ([]v1alpha1.Refusal, error) {
	var events []*corev1.Event
	for name := range live.namespaces {
		list := &corev1.EventList{}
		if err := r.List(ctx, list, client.InNamespace(name), client.MatchingFields{refusedIndex: "true"}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for i := range list.Items {
			events = append(events, &list.Items[i])
		}
	}
	return status.Refusals(events, func(rule string) bool {
		_, _, ok := policy.Find(rule)
		return ok
	}), nil
}

// nextEnd is how long the first exception that ends has still to go.
func nextEnd(t *v1alpha1.Tenant, now time.Time) time.Duration {
	var next time.Duration
	for _, e := range t.Spec.Exceptions {
		if e.Until == nil {
			continue
		}
		if left := e.Until.Sub(now); left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

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

// takenDomains are domains that another tenant has the better claim to: the one that
// has it already, else the older.
func (r *Reconciler) takenDomains(ctx context.Context, t *v1alpha1.Tenant) ([]string, error) {
	var taken []string
	for _, d := range t.Spec.Domains {
		rivals, err := r.rivals(ctx, t, d)
		if err != nil {
			return nil, err
		}
		mine, err := r.holdsDomain(ctx, t.Name, d)
		if err != nil {
			return nil, err
		}
		for _, o := range rivals {
			theirs := false
			for _, od := range o.Spec.Domains {
				if overlap(d, od) {
					holds, err := r.holdsDomain(ctx, o.Name, od)
					if err != nil {
						return nil, err
					}
					theirs = theirs || holds
				}
			}
			older := o.CreationTimestamp.Before(&t.CreationTimestamp) || o.CreationTimestamp.Equal(&t.CreationTimestamp) && o.Name < t.Name
			if theirs && !mine || theirs == mine && older {
				taken = append(taken, d)
				break
			}
		}
	}
	return taken, nil
}

// overlap tells whether one domain is, or is within, the other.
func overlap(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}

// holdsDomain tells whether a domain is compiled into a tenant's home namespace.
func (r *Reconciler) holdsDomain(ctx context.Context, tenant, domain string) (bool, error) {
	ns := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: tenant}, ns); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return ns.Labels[v1alpha1.TenantLabel] == tenant &&
		slices.Contains(strings.Split(ns.Annotations[v1alpha1.DomainsAnnotation], ","), domain), nil
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
