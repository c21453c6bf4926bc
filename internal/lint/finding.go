// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/tree"
)

// Severity is how bad a finding is.
type Severity string

// The severities: an error keeps something from working or opens a wall; a warning is
// probably not meant.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing that is wrong.
type Finding struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	// Object that it is about, as Kind namespace/name.
	Object string `json:"object,omitempty"`
	// What is wrong, and how to mend it.
	What string `json:"what"`
	Mend string `json:"mend,omitempty"`
	// Clusters that would get it; none when it is so whatever cluster asks.
	Clusters []string `json:"clusters,omitempty"`
	// Fixable says that Fix can mend it.
	Fixable bool `json:"fixable,omitempty"`
	// Allowed is why somebody let it stand, in the file.
	Allowed string `json:"allowed,omitempty"`

	fix fix
}

// fix changes files of a tree.
type fix func() error

// Place is where it is, as editors and terminals read it.
func (f Finding) Place() string {
	return build.Place{File: f.File, Line: f.Line, Column: f.Column}.String()
}

// Report is all that was found.
type Report struct {
	// Findings, by file and line.
	Findings []Finding `json:"findings"`
	// Allowed are those that the files themselves let stand.
	Allowed []Finding `json:"allowed,omitempty"`
	// Unchecked is what could not be checked, and why.
	Unchecked []Unchecked `json:"unchecked,omitempty"`
	// Counts of what was read.
	Files    int `json:"files"`
	Objects  int `json:"objects"`
	Clusters int `json:"clusters"`
	Tenants  int `json:"tenants"`

	trees []*tree.Tree
}

// Unchecked is something that could not be checked.
type Unchecked struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Count is how many findings are of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// sort orders findings by place, and makes one of those that several clusters have.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.What, b.What), slices.Compare(a.Clusters, b.Clusters),
		)
	})
	var all []Finding
	for _, f := range r.Findings {
		if last := len(all) - 1; last >= 0 && all[last].Rule == f.Rule && all[last].Place() == f.Place() && all[last].What == f.What {
			for _, c := range f.Clusters {
				if !slices.Contains(all[last].Clusters, c) {
					all[last].Clusters = append(all[last].Clusters, c)
				}
			}
			continue
		}
		f.Clusters = slices.Clone(f.Clusters)
		all = append(all, f)
	}
	r.Findings = all
	slices.SortFunc(r.Unchecked, func(a, b Unchecked) int {
		return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.Why, b.Why))
	})
	r.Unchecked = slices.Compact(r.Unchecked)
}

// Add notes a finding that was made elsewhere.
func (r *Report) Add(rule, file string, line int, what string) {
	known, _ := Find(rule)
	r.Findings = append(r.Findings, Finding{Rule: rule, Severity: known.Severity, File: file, Line: line, What: what, Mend: known.Mend})
	r.sort()
}

// Only leaves the findings of some files.
func (r *Report) Only(of func(file string) bool) {
	other := func(f Finding) bool { return !of(f.File) }
	r.Findings, r.Allowed = slices.DeleteFunc(r.Findings, other), slices.DeleteFunc(r.Allowed, other)
}
