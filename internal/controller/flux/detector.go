// SPDX-License-Identifier: Apache-2.0

// Package flux finds out whether a cluster serves Flux's kinds: Tenantry may be
// installed first.
package flux

import (
	"context"
	"sync/atomic"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// retry is how often a cluster without Flux is asked again.
const retry = 2 * time.Second

// Kinds are those that a Tenant compiles to.
func Kinds() []client.Object {
	return []client.Object{
		&kustomizev1.Kustomization{}, &sourcev1.GitRepository{}, &sourcev1.OCIRepository{}, &sourcev1.Bucket{},
	}
}

// Detector knows whether Flux's kinds are served and watched.
type Detector struct {
	client  client.Client
	watched atomic.Bool
}

// NewDetector makes a Detector.
func NewDetector(c client.Client) *Detector { return &Detector{client: c} }

// Served tells whether Flux's kinds may be read from the cache.
func (d *Detector) Served() bool { return d.watched.Load() }

// Watched notes that the cache has them.
func (d *Detector) Watched() { d.watched.Store(true) }

// Wait waits until the API server serves all of Kinds; false says that ctx ended first.
func (d *Detector) Wait(ctx context.Context) bool {
	for !d.Present() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retry):
		}
	}
	return true
}

// Present asks the API server whether it serves all of Kinds. One that doesn't answer
// is asked again later, like one that says no.
func (d *Detector) Present() bool {
	for _, o := range Kinds() {
		gvk, err := apiutil.GVKForObject(o, d.client.Scheme())
		if err != nil {
			return false
		}
		if _, err := d.client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return false
		}
	}
	return true
}
