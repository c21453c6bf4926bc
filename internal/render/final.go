// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/build"
)

// Final is an object as a cluster has it in the end.
type Final struct {
	build.ID
	Fields map[string]any
	// Tenant that it is of: whose account applies it, or whose Tenant compiles to it.
	Tenant string
	// Account that applies it; "" is Flux's own, or Tenantry's controller.
	Account string
	// Sync that brings it, as namespace/name.
	Sync string
	// Release that installs it, and as what; nil when none does.
	Release *Release
	// From is where it is written.
	From build.Place
	// Hidden are texts in it that came from Secrets, as variables.
	Hidden []string
	// Compiled says that Tenantry's controller writes it, or part of it.
	Compiled bool
	// ToBeRefused says that it is there to show that a wall holds.
	ToBeRefused bool
}

// expect is the annotation of a Kustomization that is there to be refused.
const expect = v1alpha1.Group + "/expect"

// ToBeRefused tells whether the sync is there to show that a wall holds.
func (s *Sync) ToBeRefused() bool {
	return s != nil && s.Object != nil && build.Text(s.Object.Fields, "metadata", "annotations", expect) == "refused"
}

// Final are the objects of a cluster, each once, by kind, namespace and name. What a
// tenant declares and the controller completes, as a Namespace, is both of them.
func (c *Cluster) Final() []Final {
	at := make(map[build.ID]int, len(c.Objects))
	var all []Final
	for _, o := range c.Objects {
		f := Final{ID: o.ID, Fields: o.Fields, Account: o.Account(), From: o.Place(), Compiled: o.Compiled, Release: o.Release, ToBeRefused: o.Sync.ToBeRefused()}
		if o.Sync != nil {
			f.Sync = o.Sync.ID.Namespace + "/" + o.Sync.ID.Name
			f.Hidden = o.Sync.Secrets
		}
		if o.Release != nil {
			f.Hidden = append(slices.Clone(f.Hidden), o.Release.Secrets...)
		}
		if t := c.tenantOf(o); t != nil {
			f.Tenant = t.Tenant.Name
		}
		i, there := at[o.ID]
		if !there {
			at[o.ID] = len(all)
			all = append(all, f)
			continue
		}
		if first := &all[i]; o.Compiled != first.Compiled {
			under, over := first.Fields, o.Fields
			if first.Compiled {
				under, over = over, under
				f.Fields, f.Compiled = first.Fields, true
				first.From, first.Account, first.Sync = f.From, f.Account, f.Sync
			}
			first.Fields, first.Compiled = build.Merged(under, over), true
		}
	}
	slices.SortFunc(all, func(a, b Final) int {
		return cmp.Or(
			strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version),
		)
	})
	return all
}

// tenantOf is whose an object is: what is applied as its account, what its Tenant
// compiles to, and the Tenant itself.
func (c *Cluster) tenantOf(o *Object) *Tenant {
	if t := o.Tenant(); t != nil {
		return t
	}
	switch {
	case o.Compiled && o.Kind == "Namespace":
		return c.TenantOf(o.Name)
	case o.Compiled:
		return c.TenantOf(o.Namespace)
	case o.GroupKind() == tenantKind:
		return c.TenantOf(o.Name)
	}
	return nil
}
