// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Retry has Flux try again now what failed to be applied. What a tenant may comes a
// moment after its sync, and Flux by itself waits for half a minute.
func (p Picture) Retry(ctx context.Context, c client.Client) error {
	for _, r := range p {
		if r.Health != Failed || r.Kind != "Sync" && r.Kind != "Kustomization" {
			continue
		}
		k := &kustomizev1.Kustomization{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Name}, k); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := k.DeepCopy()
		if k.Annotations == nil {
			k.Annotations = map[string]string{}
		}
		k.Annotations[fluxmeta.ReconcileRequestAnnotation] = time.Now().Format(time.RFC3339Nano)
		if err := c.Patch(ctx, k, client.MergeFrom(before)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return nil
}
