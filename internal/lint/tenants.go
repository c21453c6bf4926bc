// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/render"
)

// overlaps notes what two tenants of a cluster both have. Each is looked up by name, so
// that the time grows with the tenants and not with their pairs.
func (l *linter) overlaps(c *render.Cluster) {
	byName, namespaces, domains := map[string]*render.Tenant{}, map[string]*render.Tenant{}, map[string]*render.Tenant{}
	for _, t := range c.Tenants {
		byName[t.Tenant.Name] = t
	}
	for _, t := range c.Tenants {
		l.ended(c, t)
		words := strings.Split(t.Tenant.Name, "-")
		for n := 1; n < len(words); n++ {
			if other := byName[strings.Join(words[:n], "-")]; other != nil {
				l.about("tenants-overlap", c, t.Object, []any{"metadata", "name"},
					fmt.Sprintf("tenants %s and %s (%s) overlap: a namespace %s could be either's", t.Tenant.Name, other.Tenant.Name, other.Object.At(), t.Tenant.Name+"-..."), "")
			}
		}
		if byName[t.Tenant.Name] != t {
			continue // declared twice, which is told
		}
		for i, ns := range t.Tenant.Spec.Namespaces.Declared {
			at := []any{"spec", "namespaces", "declared", i}
			switch other := namespaces[ns]; {
			case byName[ns] != nil && byName[ns] != t:
				l.about("namespace-twice", c, t.Object, at, fmt.Sprintf("namespace %s is the home of tenant %s (%s)", ns, ns, byName[ns].Object.At()), "")
			case other != nil && other != t:
				l.about("namespace-twice", c, t.Object, at, fmt.Sprintf("namespace %s is claimed by tenant %s too (%s)", ns, other.Tenant.Name, other.Object.At()), "")
			default:
				namespaces[ns] = t
			}
			l.prefixed(c, t, byName, ns, at)
		}
		for i, d := range t.Tenant.Spec.Domains {
			if other := domains[d]; other != nil && other != t {
				l.about("domain-twice", c, t.Object, []any{"spec", "domains", i}, fmt.Sprintf("domain %s is of tenant %s too (%s)", d, other.Tenant.Name, other.Object.At()), "")
				continue
			}
			domains[d] = t
		}
	}
	for _, t := range c.Tenants {
		for i, d := range t.Tenant.Spec.Domains {
			for above := parent(d); above != ""; above = parent(above) {
				if other := domains[above]; other != nil && other != t {
					l.about("domain-twice", c, t.Object, []any{"spec", "domains", i}, fmt.Sprintf("domain %s is below %s of tenant %s (%s)", d, above, other.Tenant.Name, other.Object.At()), "")
				}
			}
		}
	}
}

// prefixed notes a declared namespace whose name is another tenant's by its beginning.
func (l *linter) prefixed(c *render.Cluster, t *render.Tenant, byName map[string]*render.Tenant, ns string, at []any) {
	words := strings.Split(ns, "-")
	for n := 1; n < len(words); n++ {
		if other := byName[strings.Join(words[:n], "-")]; other != nil && other != t && !slices.Contains(other.Tenant.Spec.Namespaces.Declared, ns) {
			l.about("namespace-twice", c, t.Object, at, fmt.Sprintf("namespace %s begins like those that tenant %s (%s) makes", ns, other.Tenant.Name, other.Object.At()), "")
		}
	}
}

func parent(domain string) string {
	_, above, _ := strings.Cut(domain, ".")
	return above
}

// ended notes exceptions that have.
func (l *linter) ended(c *render.Cluster, t *render.Tenant) {
	for i, e := range t.Tenant.Spec.Exceptions {
		if e.Until != nil && !l.fleet.Now.Before(e.Until.Time) {
			l.about("exception-ended", c, t.Object, []any{"spec", "exceptions", i, "until"}, fmt.Sprintf("the exception from %s ended on %s", e.Rule, e.Until.Format("2006-01-02")), "")
		}
	}
}

// limits notes tenants whose repositories make more namespaces than they may.
func (l *linter) limits(c *render.Cluster) {
	made := map[*render.Tenant][]*render.Object{}
	for _, o := range c.Objects {
		t := o.Tenant()
		if t == nil || o.Kind != "Namespace" || o.Group != "" || !strings.HasPrefix(o.Name, t.Tenant.Name+"-") || slices.Contains(t.Tenant.Spec.Namespaces.Declared, o.Name) {
			continue
		}
		made[t] = append(made[t], o)
	}
	for t, all := range made {
		if s := t.Tenant.Spec.Namespaces.SelfService; s != nil && len(all) > int(s.Limit) {
			last := all[len(all)-1]
			l.about("namespace-limit", c, last, nil, fmt.Sprintf("tenant %s makes %d namespaces, and may make %d", t.Tenant.Name, len(all), s.Limit), "")
		}
	}
}
