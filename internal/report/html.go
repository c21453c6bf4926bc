// SPDX-License-Identifier: Apache-2.0

package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
)

//go:embed report.html
var page string

// The page needs nothing but itself: no script of others, no font, no network.
var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"lower": strings.ToLower}).Parse(page))

// pageData is what the page shows: a matrix of groups by suites, and every case.
type pageData struct {
	Report
	Suites []suite
	Groups []string
	// Cells by group, then in the order of the suites.
	Cells map[string][]cell
	Worst []Case
}

// cell is a group of one suite.
type cell struct {
	Passed, Failed, Warned, Skipped int
}

// Class is the worst of a cell.
func (c cell) Class() State {
	switch {
	case c.Failed > 0:
		return Failed
	case c.Warned > 0:
		return Warned
	case c.Passed > 0:
		return Passed
	default:
		return Skipped
	}
}

// Total of a cell.
func (c cell) Total() int { return c.Passed + c.Failed + c.Warned + c.Skipped }

// HTML writes one page that works without a network.
func HTML(w io.Writer, r Report) error {
	d := pageData{Report: r, Suites: r.suites(), Cells: map[string][]cell{}}
	for _, c := range r.Cases {
		if !slices.Contains(d.Groups, c.Group) {
			d.Groups = append(d.Groups, c.Group)
		}
		if c.State == Failed || c.State == Warned {
			d.Worst = append(d.Worst, c)
		}
	}
	slices.Sort(d.Groups)
	slices.SortStableFunc(d.Worst, func(a, b Case) int { return strings.Compare(string(a.State), string(b.State)) })
	for _, g := range d.Groups {
		for _, s := range d.Suites {
			in := suite{}
			for _, c := range s.Cases {
				if c.Group == g {
					in.Cases = append(in.Cases, c)
				}
			}
			d.Cells[g] = append(d.Cells[g], cell{in.Count(Passed), in.Count(Failed), in.Count(Warned), in.Count(Skipped)})
		}
	}
	return pageTemplate.Execute(w, d)
}
