// SPDX-License-Identifier: Apache-2.0

package render

import (
	"slices"
	"sync"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/schema"
)

// fluxSystem is the namespace of Flux, and the name of what bootstrap makes there.
const fluxSystem = "flux-system"

// Fleet is what clusters are rendered from.
type Fleet struct {
	// Root is the fleet's own repository.
	Root *build.Builder
	// At are other repositories, by the URLs that sources name.
	At map[string]*build.Builder
	// Kinds that the clusters serve.
	Kinds *schema.Set
	// Now decides which exceptions of tenants have ended.
	Now time.Time
	// Whole compiles every Tenant; otherwise those whose repositories are at hand.
	Whole bool

	once     sync.Once
	versions []string // that charts may ask for
}

// Cluster is what one gets.
type Cluster struct {
	Name string
	// Objects in the order in which Flux comes to them.
	Objects []*Object
	Syncs   []*Sync
	Tenants []*Tenant
	// Releases are the HelmReleases that were rendered, or why they were not.
	Releases []*Release
	// Problems kept something from being rendered.
	Problems []build.Problem
	// Absent are sources that are not at hand: nothing of theirs is in Objects.
	Absent []Absent

	// Flux are the Deployments of its controllers, where they are in the fleet or bootstrap
	// puts them there.
	Flux []*Object

	byID, compiled map[build.ID]*Object
	homes          map[string]*Tenant
}

// TenantOf is the Tenant that a namespace is of, or nil.
func (c *Cluster) TenantOf(namespace string) *Tenant { return c.homes[namespace] }

// Object is an object that a cluster gets.
type Object struct {
	*build.Object
	Fields map[string]any
	// Sync that applies it. Of a Tenant's compiled objects it is the one of the Tenant.
	Sync *Sync
	// Compiled says that Tenantry's controller writes it.
	Compiled bool
	// Release that installs it, if one does.
	Release *Release
	// within is where a compiled object's spec is in its Tenant.
	within []any
}

// Place is where a field of it is written: of what is compiled, in its Tenant.
func (o *Object) Place(path ...any) build.Place {
	if !o.Compiled {
		return o.Object.Place(path...)
	}
	if len(path) > 0 && path[0] == "spec" && o.within != nil {
		return o.Object.Place(append(slices.Clone(o.within), path[1:]...)...)
	}
	return o.Object.Place(o.within...)
}

// Account is who applies an object, as the API server knows it; "" the platform itself.
func (o *Object) Account() string {
	switch {
	case o.Release != nil:
		return o.Release.Account
	case o.Compiled || o.Sync == nil:
		return ""
	default:
		return o.Sync.Account
	}
}

// Tenant whose account applies the object; nil when the platform does.
func (o *Object) Tenant() *Tenant {
	if o.Compiled || o.Sync == nil {
		return nil
	}
	return o.Sync.Tenant
}

// Sync is a Flux Kustomization of a cluster.
type Sync struct {
	// Object that it is; nil for the cluster's own directory when nothing declares it.
	Object *Object
	Spec   kustomizev1.KustomizationSpec
	ID     build.ID
	// Builder and Dir are what it renders; Builder is nil when its source is not at hand.
	Builder *build.Builder
	Dir     string
	// Source that it names, if there is one.
	Source *Object
	// Account that it applies as, as the API server knows it; "" is Flux's own.
	Account string
	// Tenant that the account is of.
	Tenant *Tenant
	// Elsewhere says that it applies to another cluster.
	Elsewhere bool
	// Vars that it substitutes, and whether all of them are known.
	Vars map[string]string
	// Secrets are the values among them that come from Secrets.
	Secrets []string
	AllVars bool
	// Whole says that all of it was rendered.
	Whole bool
}

// At is where a field of it is written.
func (s *Sync) At(path ...any) build.Place {
	if s.Object == nil {
		return build.Place{File: s.Dir}
	}
	return s.Object.Place(path...)
}

// Tenant is a Tenant of a cluster.
type Tenant struct {
	Object *Object
	Tenant *v1alpha1.Tenant
	// Plan is nil when the Tenant was not compiled.
	Plan *compile.Plan
}

// Absent is a source that is not at hand.
type Absent struct {
	Sync *Sync
	// Kind and URL of the source.
	Kind, URL string
	Why       string
}

// Release is a HelmRelease.
type Release struct {
	Object *Object
	// Namespace and Name that it installs as.
	Namespace, Name string
	Account         string
	// Secrets are values that it was given from Secrets.
	Secrets []string
	// Chart that it was rendered from, in the tree.
	Chart string
	// Why it was not rendered; "" when it was.
	Why string
}

// Get is an object of the cluster.
func (c *Cluster) Get(id build.ID) *Object { return c.byID[id] }

// Compiled is an object that Tenantry's controller writes there, or nil.
func (c *Cluster) Compiled(id build.ID) *Object { return c.compiled[id] }

func (c *Cluster) add(o *Object) {
	if o.Compiled {
		c.compiled[o.ID] = o
	}
	c.Objects = append(c.Objects, o)
	if _, there := c.byID[o.ID]; !there {
		c.byID[o.ID] = o
	}
}

// at is the repository under a URL.
func (f *Fleet) at(url string) *build.Builder { return f.At[Normal(url)] }
