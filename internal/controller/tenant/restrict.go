// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"errors"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
)

// restrict writes what takes away: what the policies read on namespaces, bindings that
// are no longer declared, syncs to suspend. It is done before anything that may fail or stall, and
// one failure does not keep the others from being done.
func (r *Reconciler) restrict(ctx context.Context, plan compile.Plan, live *inventory) error {
	var errs []error
	wanted := map[key]bool{}
	for _, ns := range plan.Namespaces {
		for _, g := range ns.Grants {
			wanted[keyOf(g)] = true
		}
		// A cordon, and lists that have become shorter.
		if have := live.namespaces[ns.Name]; have != nil && len(ns.Guards) > 0 && !kube.Holds(have, ns.Guards[0]) &&
			(ns.State == v1alpha1.NamespaceActive || have.Labels[v1alpha1.CordonLabel] != ns.Guards[0].GetLabels()[v1alpha1.CordonLabel]) {
			errs = append(errs, r.apply(ctx, ns.Guards[0], live))
		}
	}
	var revoked []key
	for k := range live.objects {
		if k.kind == "RoleBinding" && !wanted[k] && !live.terminating(k.namespace) {
			revoked = append(revoked, k)
		}
	}
	errs = append(errs, r.deleteAll(ctx, revoked, live))
	for _, s := range plan.Syncs {
		suspend, _, _ := unstructured.NestedBool(s.Object, "spec", "suspend")
		ks, ok := live.get(s).(*kustomizev1.Kustomization)
		if suspend && ok && !ks.Spec.Suspend {
			errs = append(errs, r.apply(ctx, s, live))
		}
	}
	return errors.Join(errs...)
}
