// SPDX-License-Identifier: Apache-2.0

package local

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Kustomization has caught up when it has tried the revision of its source, or can't.
func TestSyncsBehindTheirSources(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tried, message string
		status         metav1.ConditionStatus
		want           string
	}{
		"caught up":                 {"two", "", metav1.ConditionTrue, ""},
		"not yet":                   {"one", "", metav1.ConditionTrue, "Kustomization oil/apps"},
		"failed at what was before": {"one", "no match for kind", metav1.ConditionFalse, "Kustomization oil/apps"},
		"finds no directory":        {"one", "kustomization path not found: stat /x: no such file or directory", metav1.ConditionFalse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "oil", Name: "apps"}}
			k.Spec.SourceRef = kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "apps"}
			k.Status.LastAttemptedRevision = tc.tried
			k.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: tc.status, Message: tc.message}}
			if got := behindApplying([]kustomizev1.Kustomization{k}, map[string]string{"GitRepository oil/apps": "two"}); got != tc.want {
				t.Errorf("behind is %q, want %q", got, tc.want)
			}
		})
	}
}

// A release has caught up when it has tried what its chart is now, and the chart has been
// looked for where its source is now.
func TestReleasesBehindTheirCharts(t *testing.T) {
	t.Parallel()
	const source = "GitRepository oil-system/apps"
	chart := func(looked, revision string) sourcev1.HelmChart {
		c := sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "oil-system", Name: "oil-system-web"}}
		c.Spec.SourceRef = sourcev1.LocalHelmChartSourceReference{Kind: "GitRepository", Name: "apps"}
		c.Status.ObservedSourceArtifactRevision = looked
		c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
		c.Status.Artifact = &fluxmeta.Artifact{Revision: revision}
		return c
	}
	release := func(status metav1.ConditionStatus, reason, tried string, ref *helmv2.CrossNamespaceSourceReference) helmv2.HelmRelease {
		r := helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "oil-system", Name: "web"}}
		r.Spec.ChartRef = ref
		r.Status.LastAttemptedRevision = tried
		switch {
		case ref == nil:
			r.Status.HelmChart = "oil-system/oil-system-web"
		case ref.Kind == "OCIRepository":
			r.Status.LastAttemptedRevision, r.Status.LastAttemptedRevisionDigest = "1.1.0+abc", tried
		}
		r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: status, Reason: reason}}
		return r
	}
	registry := &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "web"}
	named := &helmv2.CrossNamespaceSourceReference{Kind: "HelmChart", Name: "oil-system-web"}
	for name, tc := range map[string]struct {
		chart   sourcev1.HelmChart
		release helmv2.HelmRelease
		want    string
	}{
		"caught up":              {chart("two", "1.1.0"), release("True", "", "1.1.0", nil), ""},
		"chart not looked for":   {chart("one", "1.1.0"), release("True", "", "1.1.0", nil), "HelmChart oil-system/oil-system-web"},
		"chart not tried":        {chart("two", "1.2.0"), release("True", "", "1.1.0", nil), "HelmRelease oil-system/web"},
		"can't be tried":         {chart("two", "1.2.0"), release("False", "ValuesError", "1.1.0", nil), ""},
		"failed, and not tried":  {chart("two", "1.2.0"), release("False", "UpgradeFailed", "1.1.0", nil), "HelmRelease oil-system/web"},
		"chart by name":          {chart("two", "1.2.0"), release("True", "", "1.1.0", named), "HelmRelease oil-system/web"},
		"of a registry":          {chart("two", "1.1.0"), release("True", "", "sha256:abc", registry), ""},
		"of a registry by a tag": {chart("two", "1.1.0"), release("True", "", "1.1.0@sha256:abc", registry), ""},
		"of a registry, not yet": {chart("two", "1.1.0"), release("True", "", "sha256:def", registry), "HelmRelease oil-system/web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			revisions := map[string]string{source: "two", "OCIRepository oil-system/web": "1.1.0@sha256:abc"}
			got := behindCharts([]sourcev1.HelmChart{tc.chart}, revisions)
			if got == "" {
				got = behindReleases([]helmv2.HelmRelease{tc.release}, revisions)
			}
			if got != tc.want {
				t.Errorf("behind is %q, want %q", got, tc.want)
			}
		})
	}
}
