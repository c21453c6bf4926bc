// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"context"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Behind says what has not yet taken up what is served now, or "".
func (c *Cluster) Behind(ctx context.Context) string {
	all, err := c.sources(ctx)
	if err != nil {
		return err.Error()
	}
	revisions := map[string]string{}
	for _, s := range all {
		name := keyOf(s.kind, s.GetNamespace(), s.GetName())
		if s.suspended || !c.world.Serves(s.url) {
			continue
		}
		if asked(s, s.handled) {
			return name
		}
		head, mapped := c.world.Head(s.url)
		pinned := s.ref != nil && (s.ref.Tag != "" || s.ref.SemVer != "" || s.ref.Commit != "" || s.ref.Name != "")
		if s.kind == sourcev1.GitRepositoryKind && mapped && !pinned && s.revision != "" && !strings.HasSuffix(s.revision, head) {
			return name
		}
		revisions[name] = s.revision
	}
	syncs, charts, releases := &kustomizev1.KustomizationList{}, &sourcev1.HelmChartList{}, &helmv2.HelmReleaseList{}
	for _, l := range []client.ObjectList{syncs, charts, releases} {
		if err := c.client.List(ctx, l); err != nil {
			return err.Error()
		}
	}
	return cmp.Or(behindApplying(syncs.Items, revisions), behindCharts(charts.Items, revisions), behindReleases(releases.Items, revisions))
}

// behindApplying is a Kustomization that has not tried the revision of its source, of
// those that are given by the sources' names.
func behindApplying(all []kustomizev1.Kustomization, revisions map[string]string) string {
	for i := range all {
		k := &all[i]
		ref := k.Spec.SourceRef
		revision := revisions[keyOf(ref.Kind, cmp.Or(ref.Namespace, k.Namespace), ref.Name)]
		switch h, message := healthOf(k, k.Status.Conditions); {
		case h == Progressing && strings.Contains(message, "ependency"):
			continue // it says what it waits for
		case h == Failed && (strings.Contains(message, "path not found") || meta.IsStatusConditionTrue(k.Status.Conditions, "Stalled")):
			continue // Flux does not count that as having tried
		}
		if !k.Spec.Suspend && revision != "" && k.Status.LastAttemptedRevision != revision {
			return keyOf(kustomizev1.KustomizationKind, k.Namespace, k.Name)
		}
	}
	return ""
}

// behindCharts is a HelmChart that has not been looked for in the revision of its source.
// It adds the charts' own revisions.
func behindCharts(all []sourcev1.HelmChart, revisions map[string]string) string {
	for i := range all {
		h := &all[i]
		name, revision := keyOf(sourcev1.HelmChartKind, h.Namespace, h.Name), revisions[keyOf(h.Spec.SourceRef.Kind, h.Namespace, h.Spec.SourceRef.Name)]
		health, _ := healthOf(h, h.Status.Conditions)
		if !h.Spec.Suspend && revision != "" && (h.Status.ObservedSourceArtifactRevision != revision || health == Progressing) {
			return name
		}
		if h.Status.Artifact != nil {
			revisions[name] = h.Status.Artifact.Revision
		}
	}
	return ""
}

// behindReleases is a HelmRelease that has not tried the chart that it is given now. One
// that failed before it came to that may never do: its values are not there, or what it
// depends on is not Ready.
func behindReleases(all []helmv2.HelmRelease, revisions map[string]string) string {
	for i := range all {
		h := &all[i]
		ready := meta.FindStatusCondition(h.Status.Conditions, "Ready")
		if h.Spec.Suspend || ready == nil || ready.Status != metav1.ConditionTrue && !slices.Contains(tried, ready.Reason) {
			continue
		}
		revision, last := revisions[chartOf(h)], h.Status.LastAttemptedRevision
		if h.Status.LastAttemptedRevisionDigest != "" { // of a registry: the digest in a revision, or all of it
			last = h.Status.LastAttemptedRevisionDigest
		}
		if revision != last && !strings.HasSuffix(revision, "@"+last) && revision != "" {
			return keyOf(helmv2.HelmReleaseKind, h.Namespace, h.Name)
		}
	}
	return ""
}

// tried are the reasons of a release that failed with the chart it was given.
var tried = []string{helmv2.InstallFailedReason, helmv2.UpgradeFailedReason, helmv2.TestFailedReason, helmv2.RollbackSucceededReason, helmv2.RollbackFailedReason}

func chartOf(h *helmv2.HelmRelease) string {
	ref := h.Spec.ChartRef
	if ref == nil {
		return sourcev1.HelmChartKind + " " + h.Status.HelmChart
	}
	return keyOf(ref.Kind, cmp.Or(ref.Namespace, h.Namespace), ref.Name)
}
