// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"slices"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// retry has Flux try again now what failed to be applied, and takes back that it gave a
// release up.
func (p Picture) retry(ctx context.Context, c client.Client) error {
	now := time.Now().Format(time.RFC3339Nano)
	for _, r := range p {
		notes := map[string]string{fluxmeta.ReconcileRequestAnnotation: now}
		var o client.Object = &kustomizev1.Kustomization{}
		if r.Kind == helmv2.HelmReleaseKind {
			o, notes[helmv2.ResetRequestAnnotation] = &helmv2.HelmRelease{}, now
		}
		err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, o)
		if err == nil {
			err = annotate(ctx, c, o, notes)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// toRetry is what Flux is to try again before its failure is believed. At first that is
// what the rights may have been late for, which Flux by itself would try in half a minute;
// after an edit it is what had failed before it, as a new cluster would try it too, but for
// what takes long to fail: that is up to Flux, and to changes of its own.
func (w Watching) toRetry(first, now Picture) Picture {
	var all Picture
	for _, r := range now {
		retry := r.Kind == "Sync" || r.Kind == kustomizev1.KustomizationKind
		if w.Edited {
			failedBefore := func(b Row) bool { return b.Key() == r.Key() && b.Health == Failed }
			retry = (retry || r.Kind == helmv2.HelmReleaseKind) && slices.ContainsFunc(first, failedBefore) && !slow(r)
		}
		if retry && r.Health == Failed {
			all = append(all, r)
		}
	}
	return all
}

func slow(r Row) bool {
	return strings.Contains(r.Message, "timeout waiting for") || strings.Contains(r.Message, "context deadline exceeded")
}
