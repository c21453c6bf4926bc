// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// merge makes one spec, without syncs, of the tenant's specs in several environments.
// A Tenant has one in the base of the fleet; where environments differ it gets the
// less, and a note tells which overlay wants the more.
func merge(drafts []*draft) (v1alpha1.TenantSpec, error) {
	first := drafts[0]
	spec := *first.spec.DeepCopy()
	spec.Syncs = nil
	for _, d := range drafts[1:] {
		if err := d.alike(first); err != nil {
			return spec, err
		}
	}
	spec.Owners = shared(drafts, "spec.owners", func(d *draft) []v1alpha1.Owner { return d.spec.Owners }, ownerKey)
	spec.Network.Policies = shared(drafts, "spec.network.policies",
		func(d *draft) []v1alpha1.NetworkPolicy { return d.spec.Network.Policies },
		func(p v1alpha1.NetworkPolicy) string { return p.Name })
	for _, d := range drafts[1:] {
		d.mergeNamespaces(&spec)
		d.mergeQuota(&spec)
		d.mergeLimits(&spec, first)
	}
	return spec, nil
}

// alike refuses tenants that differ in what can't be given to one overlay with a note.
func (d *draft) alike(first *draft) error {
	if apiequality.Semantic.DeepEqual(d.rest(), first.rest()) {
		return nil
	}
	return fmt.Errorf("tenant %s: it differs between %s (%s) and %s (%s) in more than owners, namespaces, bounds and syncs; import one environment at a time",
		d.name, first.environment, first.origin.Place, d.environment, d.origin.Place)
}

func (d *draft) rest() v1alpha1.TenantSpec {
	s := *d.spec.DeepCopy()
	s.Owners, s.Syncs, s.Quota, s.Limits = nil, nil, nil, nil
	s.Namespaces.Declared, s.Namespaces.PodSecurity, s.Network.Policies = nil, "", nil
	return s
}

// shared is what all environments have, the same.
func shared[T any](drafts []*draft, path string, of func(*draft) []T, key func(T) string) []T {
	var kept []T
	told := map[string]bool{}
	for _, d := range drafts {
		for _, item := range of(d) {
			everywhere := true
			for _, other := range drafts {
				everywhere = everywhere && slices.ContainsFunc(of(other), func(o T) bool { return apiequality.Semantic.DeepEqual(o, item) })
			}
			switch {
			case everywhere && d == drafts[0]:
				kept = append(kept, item)
			case !everywhere && !told[d.environment+key(item)]:
				told[d.environment+key(item)] = true
				d.tell(Do, path, "%s is so in %s and not in every environment: it is left out; add it to the Tenant's patch there", key(item), d.environment)
			}
		}
	}
	return kept
}

func (d *draft) mergeNamespaces(spec *v1alpha1.TenantSpec) {
	declared := map[string]bool{}
	for _, ns := range append(slices.Clone(spec.Namespaces.Declared), d.spec.Namespaces.Declared...) {
		declared[ns] = true
	}
	union := slices.Sorted(maps.Keys(declared))
	if len(union) > len(spec.Namespaces.Declared) || len(union) > len(d.spec.Namespaces.Declared) {
		d.tell(Changed, "spec.namespaces.declared", "environments have different namespaces: now each has all of %s", strings.Join(union, ", "))
	}
	spec.Namespaces.Declared = union[:min(len(union), 256)]
	for _, ns := range union[min(len(union), 256):] {
		d.tell(Lost, "spec.namespaces.declared", "takes 256 entries and has them: %s is left out", ns)
	}
	if len(spec.Namespaces.Declared) == 0 {
		spec.Namespaces.Declared = nil
	}
	if mine, other := d.spec.Namespaces.PodSecurity, spec.Namespaces.PodSecurity; mine != other {
		spec.Namespaces.PodSecurity = strictest(mine, other)
		d.tell(Stricter, "spec.namespaces.podSecurity", "environments have different Pod Security levels: the strictest holds, %s; set another in the Tenant's patch where it must be", level(spec.Namespaces.PodSecurity))
	}
}

func (d *draft) mergeQuota(spec *v1alpha1.TenantSpec) {
	if apiequality.Semantic.DeepEqual(spec.Quota, d.spec.Quota) {
		return
	}
	spec.Quota = lesser(spec.Quota, d.spec.Quota)
	d.tell(Stricter, "spec.quota", "environments have different quotas: the least of each holds; set another in the Tenant's patch where more is needed")
}

func (d *draft) mergeLimits(spec *v1alpha1.TenantSpec, first *draft) {
	if apiequality.Semantic.DeepEqual(first.spec.Limits, d.spec.Limits) {
		return
	}
	spec.Limits = nil
	d.tell(Do, "spec.limits", "environments have different limits: they are left out; add them to the Tenant's patch in each")
}

// apart is the syncs of each environment, when they are not the same in all.
func apart(drafts []*draft) map[string][]v1alpha1.Sync {
	same := true
	for _, d := range drafts {
		same = same && apiequality.Semantic.DeepEqual(d.spec.Syncs, drafts[0].spec.Syncs)
	}
	if same {
		return nil
	}
	all := map[string][]v1alpha1.Sync{}
	for _, d := range drafts {
		all[d.environment] = d.spec.Syncs
	}
	return all
}
