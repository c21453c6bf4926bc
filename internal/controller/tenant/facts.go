// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
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
