// SPDX-License-Identifier: Apache-2.0

package trial

import (
	_ "embed"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/words"
)

//go:embed trial.html
var page string

// The page needs nothing but itself: no script of others, no font, no network.
var pageTemplate = template.Must(template.New("trial").Funcs(template.FuncMap{
	"seconds": seconds, "short": words.Short, "mark": mark, "count": words.Count,
}).Parse(page))

// HTML writes a run as one page that works without a network.
func HTML(out io.Writer, r *Run) error {
	d := pageData{Run: r}
	for i := range r.Clusters {
		d.Pages = append(d.Pages, clusterPage{Cluster: &r.Clusters[i], ID: i})
	}
	return pageTemplate.Execute(out, d)
}

type pageData struct {
	*Run
	Pages []clusterPage
}

// clusterPage is a cluster as the page shows it.
type clusterPage struct {
	*Cluster
	ID int
}

// Bar is a time as a part of the whole, in percent.
type Bar struct {
	Name, Kind, Class, Title string
	Left, Width              float64
	From, To                 float64
}

// Bars are the timeline: the steps, then the platform's items, then each tenant's.
func (c clusterPage) Bars() []Bar {
	var all []Bar
	whole := c.whole()
	add := func(name, kind, class, title string, from, to float64) {
		left := 100 * from / whole
		// What took no time is to be seen all the same.
		all = append(all, Bar{name, kind, class, title, round(left), round(max(0.4, 100*(to-from)/whole)), from, to})
	}
	for _, s := range c.Steps {
		add(s.Name, "step", "step", "", s.From, s.To)
	}
	for _, i := range c.Items {
		class := "passed"
		switch {
		case i.Health == "Progressing":
			class = "warned"
		case !i.Good():
			class = "failed"
		}
		add(i.At(), i.Kind, class, i.Message, i.From, i.To)
	}
	return all
}

func (c clusterPage) whole() float64 {
	whole := max(c.Seconds, 0.1)
	for _, i := range c.Items {
		whole = max(whole, i.To)
	}
	for _, s := range c.Steps {
		whole = max(whole, s.To)
	}
	return whole
}

func round(f float64) float64 { return math.Round(f*100) / 100 }

// Ticks are the seconds written below the timeline.
func (c clusterPage) Ticks() []Bar {
	whole := c.whole()
	step := 1.0
	for _, s := range []float64{2, 5, 10, 20, 30, 60, 120, 300} {
		const most = 10
		if whole/step > most {
			step = s
		}
	}
	var all []Bar
	for at := 0.0; at < whole; at += step {
		all = append(all, Bar{Left: round(100 * at / whole), From: at})
	}
	return all
}

// Policies are those whose walls were attacked.
func (c clusterPage) Policies() []string {
	var all []string
	for _, a := range c.Attacks {
		for _, w := range a.Walls {
			if p := policyOf(w.Name); !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	slices.Sort(all)
	return all
}

func policyOf(wall string) string {
	policy, _, _ := strings.Cut(wall, "/")
	return policy
}

// Policy is all walls of one as one; nil when none of them was attacked.
func (a Attacked) Policy(name string) *Wall {
	var of Attacked
	for _, w := range a.Walls {
		if policyOf(w.Name) == name {
			of.Walls = append(of.Walls, w)
		}
	}
	if len(of.Walls) == 0 {
		return nil
	}
	sum := of.Sum()
	sum.Name = name
	return &sum
}

// Attacked of a tenant; nil when none was.
func (c Cluster) Attacked(tenant string) *Attacked {
	for i := range c.Attacks {
		if c.Attacks[i].Tenant == tenant {
			return &c.Attacks[i]
		}
	}
	return nil
}

// Fine tells whether all items of a tenant are as they should be.
func (c Cluster) Fine(tenant string) bool {
	return !slices.ContainsFunc(c.ItemsOf(tenant), func(i Item) bool { return !i.Good() })
}

// Errors are the findings that open a wall.
func (c Cluster) Errors() []Finding {
	var all []Finding
	for _, f := range c.Findings {
		if f.Error {
			all = append(all, f)
		}
	}
	return all
}

// Missed are the expectations that were not met.
func (c Cluster) Missed() []Expectation {
	var all []Expectation
	for _, e := range c.Expectations {
		if !e.Passed {
			all = append(all, e)
		}
	}
	return all
}
