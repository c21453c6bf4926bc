// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

const enforceLabel = "pod-security.kubernetes.io/enforce"

var levels = []v1alpha1.PodSecurityLevel{v1alpha1.PodSecurityPrivileged, "", v1alpha1.PodSecurityRestricted}

// strictest of two levels; baseline is the default and not written.
func strictest(a, b v1alpha1.PodSecurityLevel) v1alpha1.PodSecurityLevel {
	return levels[max(slices.Index(levels, a), slices.Index(levels, b), 0)]
}

func level(l v1alpha1.PodSecurityLevel) string {
	return string(cmp.Or(l, v1alpha1.PodSecurityBaseline))
}

// levelOf reads a level; ok is false for what is none.
func levelOf(name string) (v1alpha1.PodSecurityLevel, bool) {
	l := v1alpha1.PodSecurityLevel(name)
	if l == v1alpha1.PodSecurityBaseline {
		return "", true
	}
	return l, l != "" && slices.Contains(levels, l)
}

// decideLevel gives the Tenant one level for all of its namespaces.
func (d *draft) decideLevel() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(d.levels)), func(ns string) bool { return ns == d.name })
	if len(names) == 0 {
		if d.spec.Namespaces.PodSecurity == "" && !d.levelled {
			d.tell(Stricter, "spec.namespaces.podSecurity", "is baseline, where nothing was said here: see that the workloads keep to it, or set another level")
		}
		return
	}
	var unset []string
	found := map[v1alpha1.PodSecurityLevel]bool{}
	at := v1alpha1.PodSecurityPrivileged
	for _, ns := range names {
		l, ok := levelOf(d.levels[ns])
		if !ok {
			unset = append(unset, ns)
		}
		found[l] = true
		at = strictest(at, l)
	}
	d.spec.Namespaces.PodSecurity = at
	if len(unset) > 0 {
		d.tell(Stricter, "spec.namespaces.podSecurity", "%s had no Pod Security level of their own and %s is enforced now; see that the workloads keep to it", strings.Join(unset, ", "), level(at))
	}
	if len(found) > 1 {
		d.tell(Stricter, "spec.namespaces.podSecurity", "%s had different Pod Security levels: %s is enforced in all", strings.Join(names, ", "), level(at))
	}
	if at == v1alpha1.PodSecurityPrivileged {
		d.tell(Changed, "spec.namespaces.podSecurity", "privileged holds in every namespace of the tenant but its home, also in those to come; choose baseline if the workloads allow it")
	}
}
