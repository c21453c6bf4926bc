// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"strings"
	"time"
)

// Kind is what a row is about.
type Kind string

// The kinds.
const (
	Tenant    Kind = "Tenant"
	Namespace Kind = "Namespace"
	Sync      Kind = "Sync"
	Source    Kind = "Source"
)

// Absent is a readiness: the thing is on other clusters and not on this one.
const Absent = "absent"

// Row is one thing on one cluster.
type Row struct {
	Kind    Kind   `json:"kind"`
	Tenant  string `json:"tenant"`
	Cluster string `json:"cluster"`
	// Object is the kind of the object, as GitRepository.
	Object    string `json:"object,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Ready is True, False, Unknown or Absent.
	Ready     string `json:"ready,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	Revision  string `json:"revision,omitempty"`
	// From is where it comes from: a source's URL, a sync's source and path.
	From    string    `json:"from,omitempty"`
	Message string    `json:"message,omitempty"`
	Created time.Time `json:"created,omitzero"`

	// Namespaces and Owners are a tenant's; Origin and State a namespace's.
	Namespaces []string `json:"namespaces,omitempty"`
	Owners     string   `json:"owners,omitempty"`
	Synced     string   `json:"synced,omitempty"`
	Origin     string   `json:"origin,omitempty"`
	State      string   `json:"state,omitempty"`

	// Differs names what is not the same on all clusters that have it.
	Differs []string `json:"differs,omitempty"`

	// Inventory is what a sync applied, as Kind namespace/name.
	Inventory []string `json:"inventory,omitempty"`
}

// key is the same for one thing on several clusters, and sorts tenants together.
func (r Row) key() string {
	order := map[Kind]int{Tenant: 0, Namespace: 1, Source: 2, Sync: 3}[r.Kind]
	return fmt.Sprintf("%s\x00%d\x00%s\x00%s\x00%s", r.Tenant, order, r.Namespace, r.Object, r.Name)
}

// compared are the fields that tell of a difference between clusters. That a sync
// comes from another path is how environments differ, and no news.
var compared = []struct {
	name string
	of   func(Row) string
}{
	{"ready", func(r Row) string { return r.Ready }},
	{"suspended", func(r Row) string { return fmt.Sprint(r.Suspended) }},
	{"revision", func(r Row) string { return r.Revision }},
	{"namespaces", func(r Row) string { return strings.Join(r.Namespaces, ",") }},
	{"owners", func(r Row) string { return r.Owners }},
	{"synced", func(r Row) string { return r.Synced }},
	{"state", func(r Row) string { return r.State }},
	{"url", func(r Row) string {
		if r.Kind != Source {
			return ""
		}
		return r.From
	}},
}
