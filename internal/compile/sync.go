// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"cmp"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Defaults of intervals.
const (
	defaultSourceInterval = time.Minute
	defaultSyncInterval   = 10 * time.Minute
	defaultRetryInterval  = 30 * time.Second
)

// syncs are the Flux objects of a tenant: for each sync its source and its Kustomization.
func syncs(t *v1alpha1.Tenant) []*Object {
	var all []*Object
	for _, s := range t.Spec.Syncs {
		src := source(t, s)
		all = append(all, src, kustomization(t, s, src.GetKind()))
	}
	return all
}

// kustomization applies a sync as the tenant's account, and as nobody else.
func kustomization(t *v1alpha1.Tenant, s v1alpha1.Sync, sourceKind string) *Object {
	retry := interval(s.RetryInterval, defaultRetryInterval)
	ks := &kustomizev1.Kustomization{
		TypeMeta:   metav1.TypeMeta{APIVersion: kustomizev1.GroupVersion.String(), Kind: kustomizev1.KustomizationKind},
		ObjectMeta: meta(t.Name, t.Name, s.Name),
		Spec: kustomizev1.KustomizationSpec{
			ServiceAccountName: t.Name,
			SourceRef:          kustomizev1.CrossNamespaceSourceReference{Kind: sourceKind, Name: s.Name},
			Path:               cmp.Or(s.Path, "./"),
			Prune:              s.Prune == nil || *s.Prune,
			Wait:               s.Wait,
			Interval:           interval(s.Interval, defaultSyncInterval),
			RetryInterval:      &retry,
			Timeout:            s.Timeout,
			TargetNamespace:    s.TargetNamespace,
			PostBuild:          postBuild(s),
			Suspend:            suspended(t),
		},
	}
	for _, d := range s.DependsOn {
		ks.Spec.DependsOn = append(ks.Spec.DependsOn, kustomizev1.DependencyReference{Name: d})
	}
	if d := s.Decryption; d != nil {
		ks.Spec.Decryption = &kustomizev1.Decryption{
			Provider:  cmp.Or(d.Provider, "sops"),
			SecretRef: &fluxmeta.LocalObjectReference{Name: d.SecretRef.Name},
		}
	}
	return object(ks)
}

// suspended stops the syncs of a cordoned tenant. One that is being deleted prunes,
// and what is suspended doesn't.
func suspended(t *v1alpha1.Tenant) bool { return t.Spec.Cordoned && t.DeletionTimestamp.IsZero() }

func postBuild(s v1alpha1.Sync) *kustomizev1.PostBuild {
	if len(s.Substitute) == 0 && len(s.SubstituteFrom) == 0 {
		return nil
	}
	pb := &kustomizev1.PostBuild{Substitute: s.Substitute}
	for _, f := range s.SubstituteFrom {
		pb.SubstituteFrom = append(pb.SubstituteFrom, kustomizev1.SubstituteReference{
			Kind: f.Kind, Name: f.Name, Optional: f.Optional,
		})
	}
	return pb
}

func interval(d *metav1.Duration, otherwise time.Duration) metav1.Duration {
	if d == nil {
		return metav1.Duration{Duration: otherwise}
	}
	return *d
}
