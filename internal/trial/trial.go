// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"slices"
	"strings"
)

// Run is one run of a fleet, on one or several clusters.
type Run struct {
	// Fleet is its directory, Version that of the tool.
	Fleet   string `json:"fleet"`
	Version string `json:"version"`
	// Passed says that everything is as declared and expected, and nothing got through.
	Passed bool `json:"passed"`
	// Seconds it took in all.
	Seconds  float64   `json:"seconds"`
	Clusters []Cluster `json:"clusters"`
	// Differences between the first minor of Kubernetes and each other, per cluster.
	Differences []Difference `json:"differences,omitempty"`
}

// Cluster is what became of one.
type Cluster struct {
	// Name in the fleet, and the minor of Kubernetes that it ran.
	Name       string  `json:"name"`
	Kubernetes string  `json:"kubernetes"`
	Passed     bool    `json:"passed"`
	Seconds    float64 `json:"seconds"`
	// Error says why it could not be run at all.
	Error string `json:"error,omitempty"`
	// Late says that the time was over before all came to rest.
	Late bool `json:"late,omitempty"`
	// Steps of starting it, attacking it and asking it.
	Steps []Step `json:"steps"`
	// Items are the platform's and the tenants' things, as they ended.
	Items []Item `json:"items"`
	// Attacks on each tenant, and what opens a wall.
	Attacks  []Attacked `json:"attacks"`
	Findings []Finding  `json:"findings,omitempty"`
	// Expectations of the fleet's own.
	Expectations []Expectation `json:"expectations,omitempty"`
	// Asides are what is not here as on a real cluster.
	Asides []Aside `json:"notSimulated,omitempty"`
	// Unmapped are addresses that were asked for and not served.
	Unmapped []string `json:"unmapped,omitempty"`
	// Kubeconfigs of a cluster that was left running.
	Kubeconfigs map[string]string `json:"kubeconfigs,omitempty"`
}

// Step is a part of a run, in seconds since its cluster was begun.
type Step struct {
	Name string  `json:"name"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// Healths of an item that are as they should be.
const (
	Ready   = "Ready"
	Refused = "Refused"
)

// Item is one thing of a cluster.
type Item struct {
	// Tenant that it is of; "" is the platform.
	Tenant    string `json:"tenant,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Health    string `json:"health"`
	Revision  string `json:"revision,omitempty"`
	// Message is Flux's or the API server's own.
	Message string `json:"message,omitempty"`
	// From when it was seen to when it came to this, in seconds since its cluster was begun.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// File and Line that it comes from, or the part of it that its message is about.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Good tells whether it is as it should be.
func (i Item) Good() bool { return i.Health == Ready || i.Health == Refused }

// At is its name with its namespace.
func (i Item) At() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}

// Where is its file and line, or "".
func (i Item) Where() string { return where(i.File, i.Line) }

func where(file string, line int) string {
	if file == "" || line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Attacked is how the attacks on one tenant ended.
type Attacked struct {
	Tenant string `json:"tenant"`
	// Walls by name.
	Walls []Wall `json:"walls"`
	// Alike is a tenant that differs from this one by its name alone, on which all attacks
	// were played; on this one then one for each policy.
	Alike string `json:"alike,omitempty"`
	// Untested says why attacks were not tested, and of how many.
	Untested map[string]int `json:"untested,omitempty"`
}

// Wall is how many attacks on one wall ended how.
type Wall struct {
	Name      string `json:"name"`
	Held      int    `json:"held"`
	Through   int    `json:"through,omitempty"`
	NotTested int    `json:"notTested,omitempty"`
	Excepted  int    `json:"excepted,omitempty"`
}

// Class is the worst of it, as pages show it.
func (w Wall) Class() string {
	switch {
	case w.Through > 0:
		return "failed"
	case w.Held > 0:
		return "passed"
	case w.Excepted > 0:
		return "warned"
	default:
		return "skipped"
	}
}

// Sum is all walls of a tenant as one.
func (a Attacked) Sum() Wall {
	var sum Wall
	for _, w := range a.Walls {
		sum.Held += w.Held
		sum.Through += w.Through
		sum.NotTested += w.NotTested
		sum.Excepted += w.Excepted
	}
	return sum
}

// Finding is something that opens or weakens a wall.
type Finding struct {
	ID string `json:"id"`
	// Error says that a wall is open; otherwise it stands, and something leans on it.
	Error   bool   `json:"error"`
	Tenant  string `json:"tenant,omitempty"`
	Object  string `json:"object"`
	Message string `json:"message"`
	Mend    string `json:"mend"`
}

// Expectation is one of the fleet's own, and what was seen.
type Expectation struct {
	Name     string  `json:"name"`
	File     string  `json:"file"`
	Line     int     `json:"line"`
	Passed   bool    `json:"passed"`
	Expected string  `json:"expected"`
	Seen     string  `json:"seen"`
	Seconds  float64 `json:"seconds"`
}

// Where is its file and line.
func (e Expectation) Where() string { return where(e.File, e.Line) }

// Aside is something that is not here as on a real cluster.
type Aside struct {
	What   string `json:"what"`
	Object string `json:"object"`
	Why    string `json:"why"`
}

// Platform are the items of no tenant.
func (c Cluster) Platform() []Item { return c.ItemsOf("") }

// ItemsOf are those of one tenant.
func (c Cluster) ItemsOf(tenant string) []Item {
	var all []Item
	for _, i := range c.Items {
		if i.Tenant == tenant {
			all = append(all, i)
		}
	}
	return all
}

// Tenants by name.
func (c Cluster) Tenants() []string {
	var all []string
	for _, i := range c.Items {
		if i.Tenant != "" && !slices.Contains(all, i.Tenant) {
			all = append(all, i.Tenant)
		}
	}
	slices.Sort(all)
	return all
}

// Bad are the items that are not as they should be.
func (c Cluster) Bad() []Item {
	var all []Item
	for _, i := range c.Items {
		if !i.Good() {
			all = append(all, i)
		}
	}
	return all
}

// Title is the cluster's name, with the minor of Kubernetes.
func (c Cluster) Title() string { return c.Name + " (Kubernetes " + c.Kubernetes + ")" }

// Judge says of the run and of each of its clusters whether it passed, and puts what is in
// them in order.
func (r *Run) Judge() {
	r.Passed = len(r.Clusters) > 0
	for i := range r.Clusters {
		c := &r.Clusters[i]
		c.Passed = c.Error == "" && !c.Late && len(c.Items) > 0 && len(c.Bad()) == 0 &&
			!slices.ContainsFunc(c.Findings, func(f Finding) bool { return f.Error }) &&
			!slices.ContainsFunc(c.Expectations, func(e Expectation) bool { return !e.Passed })
		r.Passed = r.Passed && c.Passed
		slices.SortStableFunc(c.Asides, func(a, b Aside) int { return strings.Compare(a.What+" "+a.Object, b.What+" "+b.Object) })
	}
	r.Differences = r.compare()
}
