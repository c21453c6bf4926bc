// SPDX-License-Identifier: Apache-2.0

// Package status turns what the controller found into a Tenant's status: facts in,
// conditions out.
package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Problem is why a tenant isn't as declared.
type Problem struct {
	Reason  string
	Message string
	// Stalled says that only a person can help.
	Stalled bool
}

func (p *Problem) Error() string { return p.Reason + ": " + p.Message }

// Stall is a Problem that only a person can help with.
func Stall(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...), Stalled: true}
}

// Wait is a Problem that passes by itself.
func Wait(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Facts are what one run of the controller found.
type Facts struct {
	Problem    *Problem
	Namespaces []v1alpha1.NamespaceStatus
	Syncs      []v1alpha1.SyncStatus
	Refusals   []v1alpha1.Refusal
}

// Of is the status of a tenant.
func Of(t *v1alpha1.Tenant, f Facts) v1alpha1.TenantStatus {
	s := *t.Status.DeepCopy()
	s.ObservedGeneration = t.Generation
	s.Owners = owners(t)
	s.Namespaces = sorted(f.Namespaces)
	s.NamespaceCount = int32(len(inState(f.Namespaces, v1alpha1.NamespaceActive)))
	s.Syncs = f.Syncs
	s.Refusals = standing(t, f)
	for _, c := range []metav1.Condition{ready(t, f), reconciling(f), stalled(f), synced(t, f)} {
		c.ObservedGeneration = t.Generation
		meta.SetStatusCondition(&s.Conditions, c)
	}
	return s
}

// standing are the refusals without those of syncs that have got through since.
func standing(t *v1alpha1.Tenant, f Facts) []v1alpha1.Refusal {
	return slices.DeleteFunc(slices.Clone(f.Refusals), func(r v1alpha1.Refusal) bool {
		return slices.ContainsFunc(f.Syncs, func(s v1alpha1.SyncStatus) bool {
			return s.Ready == metav1.ConditionTrue && r.Object == "Kustomization "+t.Name+"/"+s.Name
		})
	})
}

func ready(t *v1alpha1.Tenant, f Facts) metav1.Condition {
	if p := f.Problem; p != nil {
		return condition(v1alpha1.ReadyCondition, metav1.ConditionFalse, p.Reason, p.Message)
	}
	if t.Spec.Cordoned {
		return condition(v1alpha1.ReadyCondition, metav1.ConditionTrue, v1alpha1.ReasonCordoned,
			"frozen by spec.cordoned: nobody of the tenant writes, syncs are suspended")
	}
	if over := inState(f.Namespaces, v1alpha1.NamespaceOverLimit); len(over) > 0 {
		return condition(v1alpha1.ReadyCondition, metav1.ConditionTrue, v1alpha1.ReasonOverLimit,
			fmt.Sprintf("beyond the limit and without access: %s; delete them or raise spec.namespaces.selfService.limit", strings.Join(over, ", ")))
	}
	for _, ns := range f.Namespaces {
		kept := ns.Origin == v1alpha1.OriginHome || ns.Origin == v1alpha1.OriginDeclared
		if kept && ns.State != v1alpha1.NamespaceActive {
			return condition(v1alpha1.ReadyCondition, metav1.ConditionFalse, v1alpha1.ReasonProgressing,
				fmt.Sprintf("namespace %s is %s; it is made anew when it is gone", ns.Name, strings.ToLower(string(ns.State))))
		}
	}
	return condition(v1alpha1.ReadyCondition, metav1.ConditionTrue, v1alpha1.ReasonReconciled,
		fmt.Sprintf("%s, every wall stands", plural(len(inState(f.Namespaces, v1alpha1.NamespaceActive)), "namespace")))
}

func reconciling(f Facts) metav1.Condition {
	if p := f.Problem; p != nil && !p.Stalled {
		return condition(v1alpha1.ReconcilingCondition, metav1.ConditionTrue, p.Reason, p.Message)
	}
	return condition(v1alpha1.ReconcilingCondition, metav1.ConditionFalse, v1alpha1.ReasonReconciled, "")
}

func stalled(f Facts) metav1.Condition {
	if p := f.Problem; p != nil && p.Stalled {
		return condition(v1alpha1.StalledCondition, metav1.ConditionTrue, p.Reason, p.Message)
	}
	return condition(v1alpha1.StalledCondition, metav1.ConditionFalse, v1alpha1.ReasonReconciled, "")
}

func synced(t *v1alpha1.Tenant, f Facts) metav1.Condition {
	if len(t.Spec.Syncs) == 0 {
		return condition(v1alpha1.SyncedCondition, metav1.ConditionTrue, v1alpha1.ReasonNoSyncs, "no syncs declared")
	}
	for _, s := range f.Syncs {
		if s.Ready != metav1.ConditionTrue {
			return condition(v1alpha1.SyncedCondition, metav1.ConditionFalse, v1alpha1.ReasonSyncsNotReady,
				fmt.Sprintf("sync %s: %s", s.Name, s.Message))
		}
	}
	if len(f.Syncs) < len(t.Spec.Syncs) {
		return condition(v1alpha1.SyncedCondition, metav1.ConditionUnknown, v1alpha1.ReasonProgressing, "syncs are not looked at yet")
	}
	return condition(v1alpha1.SyncedCondition, metav1.ConditionTrue, v1alpha1.ReasonSyncsReady,
		plural(len(f.Syncs), "sync")+" Ready")
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// owners are the names on one line; all of them are in the spec.
func owners(t *v1alpha1.Tenant) string {
	const most = 3
	var names []string
	for _, o := range t.Spec.Owners {
		name := o.Name
		if o.Namespace != "" {
			name = o.Namespace + "/" + name
		}
		names = append(names, name)
	}
	if len(names) > most {
		return fmt.Sprintf("%s +%d", strings.Join(names[:most], ","), len(names)-most)
	}
	return strings.Join(names, ",")
}

func sorted(all []v1alpha1.NamespaceStatus) []v1alpha1.NamespaceStatus {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b v1alpha1.NamespaceStatus) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func inState(all []v1alpha1.NamespaceStatus, state v1alpha1.NamespaceState) []string {
	var names []string
	for _, ns := range all {
		if ns.State == state {
			names = append(names, ns.Name)
		}
	}
	return names
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
