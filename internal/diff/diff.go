// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Object is an object of a cluster.
type Object struct {
	// Key tells it from the others of its cluster: group, kind, namespace and name.
	Key    Key
	Fields map[string]any
	Tenant string
	// From is where it is written.
	From string
	// Hidden are texts in it that came from Secrets.
	Hidden []string
}

// Key is what an object is called.
type Key struct{ Group, Kind, Namespace, Name string }

func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Verb is what happens to an object.
type Verb string

// The verbs.
const (
	Added   Verb = "added"
	Changed Verb = "changed"
	Removed Verb = "removed"
)

// Change is what happens to one object, in all clusters where the same does.
type Change struct {
	Clusters []string `json:"clusters"`
	Tenant   string   `json:"tenant,omitempty"`
	Object   string   `json:"object"`
	Group    string   `json:"group,omitempty"`
	Verb     Verb     `json:"verb"`
	From     string   `json:"from,omitempty"`
	Fields   []Field  `json:"fields,omitempty"`
}

// Field is a field that changes; nil is a field that is not there.
type Field struct {
	Path   string `json:"path"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// List is a change of what admission policies read of a tenant.
type List struct {
	Clusters []string `json:"clusters"`
	Tenant   string   `json:"tenant"`
	// Name of the list, as sources or domains.
	Name    string   `json:"name"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// Reach is a role that somebody gains or loses.
type Reach struct {
	Clusters []string `json:"clusters"`
	// Who, as User olivia.
	Who  string `json:"who"`
	Role string `json:"role"`
	// Namespaces; none is the whole cluster.
	Namespaces []string `json:"namespaces,omitempty"`
	Gained     bool     `json:"gained"`
	// Tenant that the namespaces are of.
	Tenant string `json:"tenant,omitempty"`
}

// Diff is what a change does.
type Diff struct {
	Changes []Change `json:"changes"`
	Lists   []List   `json:"policyData"`
	Reach   []Reach  `json:"reach"`
	// Clusters that come and go.
	NewClusters  []string `json:"newClusters,omitempty"`
	GoneClusters []string `json:"goneClusters,omitempty"`
}

// Empty tells whether nothing changes.
func (d Diff) Empty() bool { return len(d.Changes)+len(d.Lists)+len(d.Reach) == 0 }

// Count is how many objects of clusters have something happen to them.
func (d Diff) Count(v Verb) int {
	n := 0
	for _, c := range d.Changes {
		if c.Verb == v {
			n += len(c.Clusters)
		}
	}
	return n
}

// Compare compares the clusters of a fleet, by name, before and after.
func Compare(before, after map[string][]Object) Diff {
	d := Diff{Changes: []Change{}, Lists: []List{}, Reach: []Reach{}}
	names := map[string]bool{}
	for n := range before {
		names[n] = true
		if after[n] == nil {
			d.GoneClusters = append(d.GoneClusters, n)
		}
	}
	for n := range after {
		names[n] = true
		if before[n] == nil {
			d.NewClusters = append(d.NewClusters, n)
		}
	}
	slices.Sort(d.GoneClusters)
	slices.Sort(d.NewClusters)
	for _, cluster := range sorted(names) {
		d.objects(cluster, before[cluster], after[cluster])
		d.reach(cluster, before[cluster], after[cluster])
	}
	d.merge()
	return d
}

func byKey(all []Object) map[Key]Object {
	m := make(map[Key]Object, len(all))
	for _, o := range all {
		m[o.Key] = o
	}
	return m
}

func (d *Diff) objects(cluster string, before, after []Object) {
	was, is := byKey(before), byKey(after)
	for _, o := range after {
		old, there := was[o.Key]
		if !there {
			d.Changes = append(d.Changes, change(cluster, o, Added, nil))
			d.lists(cluster, Object{Tenant: o.Tenant, Key: o.Key}, o)
			continue
		}
		if reflect.DeepEqual(old.Fields, o.Fields) {
			continue
		}
		d.lists(cluster, old, o)
		if fields := Fields(old.Fields, o.Fields, append(old.Hidden, o.Hidden...)...); len(fields) > 0 {
			d.Changes = append(d.Changes, change(cluster, o, Changed, fields))
		}
	}
	for _, o := range before {
		if _, there := is[o.Key]; !there {
			d.Changes = append(d.Changes, change(cluster, o, Removed, nil))
			d.lists(cluster, o, Object{Tenant: o.Tenant, Key: o.Key})
		}
	}
}

func change(cluster string, o Object, v Verb, fields []Field) Change {
	return Change{Clusters: []string{cluster}, Tenant: o.Tenant, Object: o.Key.String(), Group: o.Key.Group, Verb: v, From: o.From, Fields: fields}
}

// lists compares what policies read, which a Namespace carries. All namespaces of a
// tenant carry the same, so its home stands for them.
func (d *Diff) lists(cluster string, before, after Object) {
	if after.Key.Kind != "Namespace" || after.Key.Group != "" || after.Key.Name != after.Tenant || after.Tenant == "" {
		return
	}
	was, is := listsOf(before.Fields), listsOf(after.Fields)
	for _, name := range sorted(union(was, is)) {
		l := List{Clusters: []string{cluster}, Tenant: after.Tenant, Name: name, Added: without(is[name], was[name]), Removed: without(was[name], is[name])}
		if len(l.Added)+len(l.Removed) > 0 {
			d.Lists = append(d.Lists, l)
		}
	}
}

// listsOf are the lists that ride on a Namespace.
func listsOf(object map[string]any) map[string][]string {
	all := map[string][]string{}
	for k, v := range annotationsOf(object) {
		name, ours := strings.CutPrefix(k, v1alpha1.Group+"/")
		text, _ := v.(string)
		if !ours || k == v1alpha1.HashAnnotation {
			continue
		}
		for _, entry := range strings.Split(text, ",") {
			if entry != "" {
				all[name] = append(all[name], entry)
			}
		}
	}
	return all
}

func annotationsOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

// merge makes one of what is the same in several clusters.
func (d *Diff) merge() {
	d.Changes = merged(d.Changes, func(c *Change) *[]string { return &c.Clusters })
	d.Lists = merged(d.Lists, func(l *List) *[]string { return &l.Clusters })
	d.Reach = merged(d.Reach, func(r *Reach) *[]string { return &r.Clusters })
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Object, b.Object))
	})
	slices.SortStableFunc(d.Lists, func(a, b List) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Name, b.Name))
	})
	slices.SortStableFunc(d.Reach, func(a, b Reach) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Who, b.Who), strings.Compare(a.Role, b.Role))
	})
}

// merged joins entries that differ in their clusters alone.
func merged[T any](all []T, clusters func(*T) *[]string) []T {
	out := []T{}
	at := map[string]int{}
	for _, e := range all {
		names := *clusters(&e)
		*clusters(&e) = nil
		key := text(e)
		*clusters(&e) = names
		if i, there := at[key]; there {
			list := clusters(&out[i])
			*list = append(*list, names...)
			continue
		}
		at[key] = len(out)
		out = append(out, e)
	}
	return out
}
