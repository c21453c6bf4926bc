// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

var (
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tenantry_writes_total",
		Help: "Objects written or deleted for tenants, by kind. Flat while nothing changes.",
	}, []string{"kind"})
	refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tenantry_refusals_total",
		Help: "Refusals by the policies that Flux or a workload of a tenant reported, each once for the object that reports it. The API server counts every denial in apiserver_validating_admission_policy_check_total.",
	}, []string{"tenant", "rule"})
	adoption = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "tenantry_namespace_adoption_seconds",
		Help:    "Time from the creation of a tenant's namespace until its owners have access, rounded up to a second by the API's timestamps.",
		Buckets: []float64{1, 2, 5, 10, 30, 60},
	})
)

func init() {
	metrics.Registry.MustRegister(writes, refusals, adoption)
}

// adopted tells that a namespace has become usable.
func (r *Reconciler) adopted(t *v1alpha1.Tenant, ns v1alpha1.NamespaceStatus, live *corev1.Namespace) {
	if live != nil {
		adoption.Observe(time.Since(live.CreationTimestamp.Time).Seconds())
	}
	r.Events.Eventf(t, nil, corev1.EventTypeNormal, "NamespaceAdopted", "Adopt", "namespace %s stands", ns.Name)
}

// tell turns changes of status into events.
func (r *Reconciler) tell(before, after *v1alpha1.Tenant) {
	r.tellRefusals(before, after)
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ReadyCondition)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ReadyCondition)
	if is == nil || was != nil && was.Reason == is.Reason && was.Message == is.Message {
		return
	}
	kind := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.StalledCondition) || is.Reason == v1alpha1.ReasonOverLimit {
		kind = corev1.EventTypeWarning
	}
	if is.Reason == v1alpha1.ReasonProgressing {
		return
	}
	r.Events.Eventf(after, nil, kind, is.Reason, "Reconcile", "%s", is.Message)
}

// tellRefusals tells of those that weren't there before; ten at most are.
func (r *Reconciler) tellRefusals(before, after *v1alpha1.Tenant) {
	for _, n := range after.Status.Refusals {
		known := slices.ContainsFunc(before.Status.Refusals, func(o v1alpha1.Refusal) bool { return o.Object == n.Object && o.Rule == n.Rule })
		if known {
			continue
		}
		refusals.WithLabelValues(after.Name, n.Rule).Inc()
		r.Events.Eventf(after, nil, corev1.EventTypeWarning, "Refused", "Apply", "%s: %s [%s]", n.Object, n.Message, n.Rule)
	}
}

// list names a few of many.
func list(names []string) string {
	const most = 5
	slices.Sort(names)
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}
