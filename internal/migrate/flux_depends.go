// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// depend carries over what syncs wait for, once all are known.
func (c *cluster) depend() {
	for _, t := range c.syncs {
		for _, f := range t.after {
			c.dependency(t, f)
		}
	}
}

func (c *cluster) dependency(t *taken, f field) {
	ns := f.get("namespace").peek()
	if ns == "" {
		ns = t.of.namespace
	}
	other := c.syncs[ns+"/"+f.get("name").peek()]
	at := slices.IndexFunc(t.draft.spec.Syncs, func(s v1alpha1.Sync) bool { return s.Name == t.name })
	s := &t.draft.spec.Syncs[at]
	switch {
	case other == nil || other.draft != t.draft || other == t:
		f.tell(Lost, "waits for %s/%s, which is no other sync of the tenant: it doesn't wait any more", ns, f.get("name").peek())
	case slices.Contains(s.DependsOn, other.name):
		f.done()
	case len(s.DependsOn) >= 8:
		f.tell(Lost, "a sync waits for 8 others at most: it doesn't wait for %s", other.name)
	default:
		f.get("namespace").done()
		f.get("name").done()
		s.DependsOn = append(s.DependsOn, other.name)
		slices.Sort(s.DependsOn)
	}
}
