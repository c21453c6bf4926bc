// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"regexp"
	"strings"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/render"
)

// Places knows where a cluster's objects are written.
type Places struct{ cluster *render.Cluster }

// NewPlaces is made of a cluster as it is rendered without running it.
func NewPlaces(c *render.Cluster) Places { return Places{c} }

// mentioned are objects in messages of Flux and the API server: Kind/namespace/name or
// Kind/name.
var mentioned = regexp.MustCompile(`\b([A-Z][A-Za-z]+)/([a-z0-9][-a-z0-9.]*)(?:/([a-z0-9][-a-z0-9.:]*))?`)

// Of is where a row comes from: the object that its message is about, where there is one,
// otherwise what declares the row itself.
func (p Places) Of(r local.Row) build.Place {
	if p.cluster == nil {
		return build.Place{}
	}
	sync := p.sync(r)
	if r.Health != local.Ready {
		if place, ok := p.blamed(r, sync); ok {
			return place
		}
	}
	if sync != nil {
		return sync.At()
	}
	if o := p.object(r.Kind, r.Namespace, r.Name, nil); o != nil {
		return o.Place()
	}
	// A workload's Pods and ReplicaSets are named after it.
	for i := strings.LastIndex(r.Name, "-"); i >= 0; i = strings.LastIndex(r.Name[:i], "-") {
		for _, owner := range []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"} {
			if o := p.object(owner, r.Namespace, r.Name[:i], nil); o != nil {
				return o.Place()
			}
		}
	}
	return build.Place{}
}

// blamed is where that is written which a message is about.
func (p Places) blamed(r local.Row, sync *render.Sync) (build.Place, bool) {
	switch {
	case sync != nil && strings.HasPrefix(r.Message, "source: ") && sync.Source != nil:
		return sync.Source.Place("spec"), true
	case sync != nil && strings.Contains(r.Message, "kustomization path not found"):
		return sync.At("spec", "path"), true
	}
	for _, m := range mentioned.FindAllStringSubmatch(r.Message, -1) {
		kind, namespace, name := m[1], m[2], m[3]
		if name == "" {
			namespace, name = "", namespace
		}
		if o := p.object(kind, namespace, name, sync); o != nil {
			return o.Place(), true
		}
	}
	return build.Place{}, false
}

// sync is the rendered one that a row is of, or nil.
func (p Places) sync(r local.Row) *render.Sync {
	if r.Kind != "Kustomization" && r.Kind != "Sync" {
		return nil
	}
	for _, s := range p.cluster.Syncs {
		if s.ID.Namespace == r.Namespace && s.ID.Name == r.Name {
			return s
		}
	}
	return nil
}

// object is a rendered one; of several the one that a sync brings.
func (p Places) object(kind, namespace, name string, sync *render.Sync) *render.Object {
	var found *render.Object
	for _, o := range p.cluster.Objects {
		if o.Kind != kind || o.Name != name || o.Namespace != namespace {
			continue
		}
		if found == nil || sync != nil && o.Sync == sync {
			found = o
		}
	}
	return found
}
