// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Health is how far something is.
type Health string

// The healths.
const (
	// Ready: it is as declared.
	Ready Health = "Ready"
	// Refused: it was expected to be refused, and is.
	Refused Health = "Refused"
	// Progressing: it is on its way.
	Progressing Health = "Progressing"
	// Failed: it says that it failed. It may be tried again.
	Failed Health = "Failed"
	// Breached: it was expected to be refused, and was let through.
	Breached Health = "Breached"
)

// Row is one thing of a cluster.
type Row struct {
	// Tenant that it belongs to; "" is the platform.
	Tenant string `json:"tenant,omitempty"`
	// Kind is Cluster, Tenant, Sync, Kustomization or HelmRelease, or that of a workload
	// that got stuck.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Health    Health `json:"health"`
	Revision  string `json:"revision,omitempty"`
	Message   string `json:"message,omitempty"`
}

// Picture is a cluster at one moment, in the order of printing.
type Picture []Row

// Look takes a picture of a cluster, named as in the fleet. Parents are read before their
// children, so that a parent that is Ready never stands without them.
func Look(ctx context.Context, c client.Client, cluster string) (Picture, error) {
	tenants := &v1alpha1.TenantList{}
	parents, kustomizations := &kustomizev1.KustomizationList{}, &kustomizev1.KustomizationList{}
	releases := &helmv2.HelmReleaseList{}
	namespaces := &corev1.NamespaceList{}
	gits, ocis, buckets := &sourcev1.GitRepositoryList{}, &sourcev1.OCIRepositoryList{}, &sourcev1.BucketList{}
	for _, l := range []client.ObjectList{parents, tenants, gits, ocis, buckets, kustomizations, releases, namespaces} {
		if err := c.List(ctx, l); err != nil {
			return nil, err
		}
	}
	stuck, err := stuckRows(ctx, c)
	if err != nil {
		return nil, err
	}
	failing := failures{}
	for i := range gits.Items {
		failing.note(sourcev1.GitRepositoryKind, &gits.Items[i], gits.Items[i].Status.Conditions)
	}
	for i := range ocis.Items {
		failing.note(sourcev1.OCIRepositoryKind, &ocis.Items[i], ocis.Items[i].Status.Conditions)
	}
	for i := range buckets.Items {
		failing.note(sourcev1.BucketKind, &buckets.Items[i], buckets.Items[i].Status.Conditions)
	}
	tenantOf := map[string]string{}
	for _, ns := range namespaces.Items {
		tenantOf[ns.Name] = ns.Labels[v1alpha1.TenantLabel]
	}
	children := map[string]Picture{}
	for i := range parents.Items {
		if k := &parents.Items[i]; tenantOf[k.Namespace] == "" {
			children[""] = append(children[""], kustomizationRow(k, "", failing))
		}
	}
	for i := range kustomizations.Items {
		k := &kustomizations.Items[i]
		if t := tenantOf[k.Namespace]; t != "" {
			children[t] = append(children[t], kustomizationRow(k, t, failing))
		}
	}
	for i := range releases.Items {
		t := tenantOf[releases.Items[i].Namespace]
		children[t] = append(children[t], releaseRow(&releases.Items[i], t))
	}
	for _, r := range stuck {
		r.Tenant = tenantOf[r.Namespace]
		children[r.Tenant] = append(children[r.Tenant], r)
	}
	picture := append(Picture{clusterRow(cluster, children[""])}, children[""]...)
	slices.SortFunc(tenants.Items, func(a, b v1alpha1.Tenant) int { return strings.Compare(a.Name, b.Name) })
	for i := range tenants.Items {
		t := &tenants.Items[i]
		picture = append(picture, tenantRow(t))
		rows := children[t.Name]
		slices.SortStableFunc(rows, func(a, b Row) int {
			if a.Kind != b.Kind && (a.Kind == "Sync" || b.Kind == "Sync") {
				return strings.Compare(b.Kind, a.Kind)
			}
			return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
		})
		picture = append(picture, rows...)
	}
	return picture, nil
}

// clusterRow sums up what the platform itself applies.
func clusterRow(cluster string, platform Picture) Row {
	r := Row{Kind: "Cluster", Name: cluster, Health: Ready}
	ready, all := 0, 0
	for _, p := range platform {
		if p.Kind == "Kustomization" {
			all++
		}
		switch {
		case p.Health == Ready || p.Health == Refused:
			if p.Kind != "Kustomization" {
				continue
			}
			ready++
			if p.Namespace == FluxNamespace && p.Name == FluxNamespace {
				r.Revision = p.Revision
			}
		case p.Health == Failed || r.Health == Ready:
			r.Health = p.Health
		}
	}
	if all == 0 {
		r.Health = Progressing
	}
	r.Message = fmt.Sprintf("%d of %d Kustomizations of the platform Ready", ready, all)
	return r
}

func tenantRow(t *v1alpha1.Tenant) Row {
	r := Row{Kind: "Tenant", Tenant: t.Name, Name: t.Name, Health: Progressing, Message: "not looked at yet"}
	stalled := meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.StalledCondition)
	cond := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ReadyCondition)
	switch {
	case cond == nil || cond.ObservedGeneration < t.Generation:
	case cond.Status == metav1.ConditionTrue:
		r.Health, r.Message = Ready, cond.Message
	case stalled:
		r.Health, r.Message = Failed, cond.Reason+": "+cond.Message
	default:
		r.Message = cond.Message
	}
	return r
}

// failures are the messages of sources that are not Ready.
type failures map[string]string

func (f failures) note(kind string, o client.Object, conditions []metav1.Condition) {
	if cond := meta.FindStatusCondition(conditions, "Ready"); cond != nil && cond.Status == metav1.ConditionFalse {
		f[keyOf(kind, o.GetNamespace(), o.GetName())] = cond.Message
	}
}

func kustomizationRow(k *kustomizev1.Kustomization, tenant string, failing failures) Row {
	r := Row{Tenant: tenant, Kind: "Kustomization", Namespace: k.Namespace, Name: k.Name, Revision: k.Status.LastAppliedRevision}
	if k.Labels[v1alpha1.ManagedLabel] != "" {
		r.Kind = "Sync"
	}
	if r.untried(k, k.Spec.Suspend, k.Status.LastHandledReconcileAt) {
		return r
	}
	r.Health, r.Message = healthOf(k, k.Status.Conditions)
	if why := failing[keyOf(k.Spec.SourceRef.Kind, k.Namespace, k.Spec.SourceRef.Name)]; why != "" {
		// Without a source nothing was tried, so nothing was refused; and what was applied
		// once is not what is there now.
		r.Health, r.Message = Failed, "source: "+why
		return r
	}
	return expecting(k, r)
}

func releaseRow(h *helmv2.HelmRelease, tenant string) Row {
	r := Row{Tenant: tenant, Kind: "HelmRelease", Namespace: h.Namespace, Name: h.Name}
	if latest := h.Status.History.Latest(); latest != nil {
		r.Revision = latest.ChartName + "@" + latest.ChartVersion
	}
	if r.untried(h, h.Spec.Suspend, h.Status.LastHandledReconcileAt) {
		return r
	}
	r.Health, r.Message = healthOf(h, h.Status.Conditions)
	return expecting(h, r)
}

// untried tells whether what Flux said last of something is not what it would say now, and
// has the row say why: it is suspended, or to be tried again.
func (r *Row) untried(o client.Object, suspended bool, handled string) bool {
	switch {
	case suspended:
		r.Health, r.Message = Ready, "suspended"
	case asked(o, handled):
		r.Health, r.Message = Progressing, "to be tried again"
	default:
		return false
	}
	return true
}

// asked tells whether Flux was asked to look at something and has not come to it.
func asked(o client.Object, handled string) bool {
	request := o.GetAnnotations()[fluxmeta.ReconcileRequestAnnotation]
	return request != "" && request != handled
}

func healthOf(o client.Object, conditions []metav1.Condition) (Health, string) {
	cond := meta.FindStatusCondition(conditions, "Ready")
	if cond == nil || cond.ObservedGeneration < o.GetGeneration() {
		return Progressing, "not looked at yet"
	}
	switch cond.Status {
	case metav1.ConditionTrue:
		return Ready, cond.Message
	case metav1.ConditionFalse:
		waits := cond.Reason == "ArtifactFailed" && strings.HasPrefix(cond.Message, "Source ")
		// A release that was taken back is tried again, unless Flux says that it gave it up.
		takenBack := strings.HasSuffix(cond.Reason, "Succeeded") && !meta.IsStatusConditionTrue(conditions, "Stalled")
		if cond.Reason == "DependencyNotReady" || waits || takenBack {
			return Progressing, cond.Message
		}
		return Failed, cond.Message
	default:
		return Progressing, cond.Message
	}
}

// expecting turns the refusal of something that is there to be refused into a
// success, and anything else than a refusal into what it is.
func expecting(o client.Object, r Row) Row {
	if o.GetAnnotations()[v1alpha1.ExpectAnnotation] != v1alpha1.ExpectRefused {
		return r
	}
	switch {
	case r.Health == Ready:
		r.Health, r.Message = Breached, "expected to be refused, and was let through"
	case r.Health == Failed && strings.Contains(r.Message, "is forbidden:"):
		r.Health = Refused
	}
	return r
}

// Good tells whether everything is as declared.
func (p Picture) Good() bool {
	for _, r := range p {
		if r.Health != Ready && r.Health != Refused {
			return false
		}
	}
	return len(p) > 0
}

// Bad are the rows that are not as declared.
func (p Picture) Bad() Picture {
	var bad Picture
	for _, r := range p {
		if r.Health != Ready && r.Health != Refused {
			bad = append(bad, r)
		}
	}
	return bad
}

// Settled tells whether the picture will hardly change by itself: something failed
// and what is not Ready only waits for it.
func (p Picture) Settled() bool {
	failed := false
	for _, r := range p {
		switch r.Health {
		case Failed, Breached:
			failed = true
		case Progressing:
			if r.Kind != "Cluster" && !strings.Contains(r.Message, "ependency") {
				return false
			}
		}
	}
	return failed
}

// Key tells rows of two pictures apart.
func (r Row) Key() string { return keyOf(r.Kind, r.Namespace, r.Name) }

func keyOf(kind, namespace, name string) string { return kind + " " + namespace + "/" + name }
