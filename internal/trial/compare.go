// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"slices"
)

// Difference is what is otherwise on another minor of Kubernetes.
type Difference struct {
	Cluster string `json:"cluster"`
	// What differs: an item, a wall of a tenant, an expectation.
	What string `json:"what"`
	// From and To are the minors, Before and After how it ended on them.
	From   string `json:"from"`
	To     string `json:"to"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// compare sets each cluster that ran on several minors against its first.
func (r *Run) compare() []Difference {
	var all []Difference
	first := map[string]*Cluster{}
	for i := range r.Clusters {
		c := &r.Clusters[i]
		base, ok := first[c.Name]
		if !ok {
			first[c.Name] = c
			continue
		}
		before, after := base.outcomes(c), c.outcomes(base)
		names := append([]string{}, before.names...)
		for _, n := range after.names {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		for _, n := range names {
			if b, a := before.by[n], after.by[n]; b != a {
				all = append(all, Difference{c.Name, n, base.Kubernetes, c.Kubernetes, orAbsent(b), orAbsent(a)})
			}
		}
	}
	return all
}

func orAbsent(s string) string {
	if s == "" {
		return "not there"
	}
	return s
}

// outcomes are how everything of a cluster ended, by what it is.
type outcomes struct {
	names []string
	by    map[string]string
}

// outcomes are told for a comparison with another cluster: of walls only for tenants that
// were attacked on both.
func (c *Cluster) outcomes(other *Cluster) outcomes {
	o := outcomes{by: map[string]string{}}
	add := func(name, outcome string) {
		if _, ok := o.by[name]; !ok {
			o.names = append(o.names, name)
		}
		o.by[name] = outcome
	}
	if c.Error != "" {
		add("cluster", c.Error)
	}
	for _, i := range c.Items {
		outcome := i.Health
		if !i.Good() {
			outcome += ": " + i.Message
		}
		add(i.Kind+" "+i.At(), outcome)
	}
	for _, a := range c.Attacks {
		if other.Attacked(a.Tenant) == nil {
			add("attacks on tenant "+a.Tenant, a.Sum().String())
			continue
		}
		for _, w := range a.Walls {
			add(fmt.Sprintf("attacks on %s of tenant %s", w.Name, a.Tenant), w.String())
		}
	}
	for _, f := range c.Findings {
		add("finding "+f.ID+" "+f.Object, f.Message)
	}
	for _, e := range c.Expectations {
		add("expectation "+e.Name, map[bool]string{true: "met", false: "not met: " + e.Seen}[e.Passed])
	}
	return o
}

// String counts how attacks ended.
func (w Wall) String() string {
	text := fmt.Sprintf("%d held", w.Held)
	if w.Through > 0 {
		text += fmt.Sprintf(", %d GOT THROUGH", w.Through)
	}
	if w.Excepted > 0 {
		text += fmt.Sprintf(", %d excepted", w.Excepted)
	}
	if w.NotTested > 0 {
		text += fmt.Sprintf(", %d not tested", w.NotTested)
	}
	return text
}
