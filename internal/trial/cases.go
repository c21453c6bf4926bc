// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"

	"github.com/tenantry/tenantry/internal/report"
)

// Report is a run as cases, for the formats that CI reads.
func (r *Run) Report() report.Report {
	out := report.Report{Tool: "tenantry", Version: r.Version, Title: "tenantry test"}
	for i := range r.Clusters {
		out.Cases = append(out.Cases, r.Clusters[i].cases()...)
	}
	return out
}

func (c *Cluster) cases() []report.Case {
	suite := c.Title()
	if c.Error != "" {
		return []report.Case{{Suite: suite, Group: "cluster", ID: "cluster", Title: "runs", State: report.Failed, Message: c.Error}}
	}
	var all []report.Case
	if c.Late || len(c.Items) == 0 {
		all = append(all, report.Case{Suite: suite, Group: "cluster", ID: "cluster", Title: "comes to rest", State: report.Failed, Message: "the time was over before all came to rest"})
	}
	for _, i := range c.Items {
		group := i.Tenant
		if group == "" {
			group = "platform"
		}
		k := report.Case{Suite: suite, Group: group, ID: i.Kind + " " + i.At(), Title: "is as declared", State: report.Passed, File: i.File, Line: i.Line, Object: i.Kind + " " + i.At()}
		if !i.Good() {
			k.State, k.Message = report.Failed, fmt.Sprintf("%s: %s", i.Health, i.Message)
		}
		all = append(all, k)
	}
	for _, a := range c.Attacks {
		for _, w := range a.Walls {
			k := report.Case{Suite: suite, Group: a.Tenant, ID: "attacks on " + w.Name, Title: w.String(), State: report.Passed}
			switch {
			case w.Through > 0:
				k.State, k.Message = report.Failed, fmt.Sprintf("%d got through", w.Through)
			case w.Held == 0:
				k.State, k.Message = report.Skipped, w.String()
			}
			all = append(all, k)
		}
	}
	for _, f := range c.Findings {
		k := report.Case{Suite: suite, Group: f.Tenant, ID: f.ID, Title: f.Object, State: report.Warned, Message: f.Message, Object: f.Object, Mend: f.Mend}
		if f.Error {
			k.State = report.Failed
		}
		all = append(all, k)
	}
	for _, e := range c.Expectations {
		k := report.Case{Suite: suite, Group: "expectations", ID: "expectation", Title: e.Name, State: report.Passed, File: e.File, Line: e.Line}
		if !e.Passed {
			k.State, k.Message = report.Failed, fmt.Sprintf("expected %s; seen: %s", e.Expected, e.Seen)
		}
		all = append(all, k)
	}
	for _, a := range c.Asides {
		all = append(all, report.Case{Suite: suite, Group: "not simulated", ID: a.What, Title: a.Object, State: report.Skipped, Message: a.Why})
	}
	for _, u := range c.Unmapped {
		all = append(all, report.Case{Suite: suite, Group: "not simulated", ID: "not served", Title: u, State: report.Skipped, Message: "no directory stands in for it"})
	}
	return all
}
