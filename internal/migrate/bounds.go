// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// bounds are what bounded each of the tenant's namespaces. A Tenant bounds them all alike.
type bounds map[string]*bound

type bound struct {
	quota    corev1.ResourceList
	limits   []corev1.LimitRangeItem
	policies map[string]policy
}

type policy struct {
	of   *object
	spec networkingv1.NetworkPolicySpec
}

// at is what bounded a namespace; it counts as one that stands.
func (b bounds) at(ns string) *bound {
	if b[ns] == nil {
		b[ns] = &bound{policies: map[string]policy{}}
	}
	return b[ns]
}

// workplaces are the namespaces that the tenant's applications were in: all but the
// home namespace, unless there is no other.
func (b bounds) workplaces(home string) []string {
	all := slices.Sorted(maps.Keys(b))
	if len(all) > 1 {
		all = slices.DeleteFunc(all, func(ns string) bool { return ns == home })
	}
	return all
}

// decideBounds gives the Tenant what its namespaces had in common.
func (d *draft) decideBounds() {
	places := d.bounds.workplaces(d.name)
	if len(places) == 0 {
		return
	}
	d.decideQuota(places)
	d.decideLimits(places)
	d.decidePolicies(places)
}

func (d *draft) decideQuota(places []string) {
	differ := false
	for _, ns := range places {
		q := d.bounds[ns].quota
		differ = differ || !apiequality.Semantic.DeepEqual(q, d.bounds[places[0]].quota)
		d.spec.Quota = lesser(d.spec.Quota, q)
	}
	if differ {
		d.tell(Stricter, "spec.quota", "%s had different quotas: each gets the least of each resource; raise it in spec.quota where more is needed", strings.Join(places, ", "))
	}
}

func (d *draft) decideLimits(places []string) {
	for _, ns := range places {
		if !apiequality.Semantic.DeepEqual(d.bounds[ns].limits, d.bounds[places[0]].limits) {
			d.tell(Do, "spec.limits", "%s had different limits and a Tenant has one for all: they are left out; write spec.limits, or have the tenant keep a LimitRange in its repository", strings.Join(places, ", "))
			return
		}
	}
	d.addLimits(d.origin.top(), d.bounds[places[0]].limits)
}

func (d *draft) decidePolicies(places []string) {
	for _, ns := range places {
		for _, name := range slices.Sorted(maps.Keys(d.bounds[ns].policies)) {
			p := d.bounds[ns].policies[name]
			switch {
			case !d.everywhere(places, name, p.spec):
				p.of.tell(Do, "is not the same in %s, and those of a Tenant are in every namespace: it is left out; put it into the tenant's repository, or into spec.network.policies", strings.Join(places, ", "))
			case ns == places[0]:
				d.addPolicy(p.of.top(), name, p.spec)
			}
		}
	}
}

func (d *draft) everywhere(places []string, name string, spec networkingv1.NetworkPolicySpec) bool {
	for _, ns := range places {
		other, ok := d.bounds[ns].policies[name]
		if !ok || !apiequality.Semantic.DeepEqual(other.spec, spec) {
			return false
		}
	}
	return true
}

// addLimits appends items of a LimitRange.
func (d *draft) addLimits(f field, all []corev1.LimitRangeItem) {
	for _, item := range all {
		if len(d.spec.Limits) >= 16 {
			f.of.tellOf(f.path, Lost, "a Tenant has 16 limits at most: one for %s is left out", item.Type)
			continue
		}
		d.spec.Limits = append(d.spec.Limits, item)
	}
}

// addPolicy names a NetworkPolicy for every namespace of the tenant.
func (d *draft) addPolicy(f field, name string, spec networkingv1.NetworkPolicySpec) {
	name = strings.ReplaceAll(name, ".", "-")
	taken := slices.ContainsFunc(d.spec.Network.Policies, func(p v1alpha1.NetworkPolicy) bool { return p.Name == name })
	switch {
	case taken || name == "tenantry-isolate" || len(name) > 63 || !labelName.MatchString(name):
		f.of.tellOf(f.path, Lost, "a policy can't be named %s: it is left out; add it to spec.network.policies by another name", name)
	case len(d.spec.Network.Policies) >= 32:
		f.of.tellOf(f.path, Lost, "a Tenant has 32 policies at most: %s is left out; put it into the tenant's repository", name)
	default:
		d.spec.Network.Policies = append(d.spec.Network.Policies, v1alpha1.NetworkPolicy{Name: name, Spec: spec})
	}
}

// limitItems reads the items of a LimitRange.
func limitItems(f field) []corev1.LimitRangeItem {
	var all []corev1.LimitRangeItem
	for _, item := range f.list() {
		all = append(all, corev1.LimitRangeItem{
			Type:                 corev1.LimitType(item.get("type").text()),
			Max:                  nilled(quantities(item.get("max"))),
			Min:                  nilled(quantities(item.get("min"))),
			Default:              nilled(quantities(item.get("default"))),
			DefaultRequest:       nilled(quantities(item.get("defaultRequest"))),
			MaxLimitRequestRatio: nilled(quantities(item.get("maxLimitRequestRatio"))),
		})
	}
	return all
}

func nilled(l corev1.ResourceList) corev1.ResourceList {
	if len(l) == 0 {
		return nil
	}
	return l
}
