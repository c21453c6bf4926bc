// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/audit"
	"github.com/tenantry/tenantry/internal/report"
	"github.com/tenantry/tenantry/internal/words"
)

func printAudit(s Streams, o auditOptions, a audited, took time.Duration) error {
	slices.SortStableFunc(a.Findings, func(x, y audit.Finding) int {
		return cmp.Compare(severities[x.Severity], severities[y.Severity])
	})
	switch o.output {
	case "json", "yaml":
		return printAs(s.Out, o.output, a)
	case "junit":
		return report.JUnit(s.Out, a.report())
	case "sarif":
		return report.SARIF(s.Out, a.report())
	case "html":
		return report.HTML(s.Out, a.report())
	}
	if err := a.printWalls(s); err != nil {
		return err
	}
	a.printFindings(s)
	a.printGaps(s)
	for _, t := range a.Tenants {
		s.say("%s: %d held, %d got through, %d not tested%s", t.Name, t.Counts[attack.Held], t.Counts[attack.Through], t.Counts[attack.NotTested], excepted(t))
	}
	s.say("%s on %s in %s; %s", words.Count(len(a.Results), "attack"), words.Count(len(a.Tenants), "tenant"), took.Round(100*time.Millisecond), words.Count(len(a.Findings), "finding"))
	if len(a.Findings) > 0 {
		s.say("Next: tenantry audit --explain ID says more of a finding; mend those that open a wall, and audit again.")
	}
	return nil
}

var severities = map[audit.Severity]int{audit.Error: 0, audit.Warning: 1, audit.Info: 2}

// say prints a line.
func (s Streams) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Out, format+"\n", args...) // nobody to tell
}

func excepted(t auditedTenant) string {
	if n := t.Counts[attack.Excepted]; n > 0 {
		return fmt.Sprintf(", %d excepted by its Tenant", n)
	}
	return ""
}

// printWalls is a table of walls: of policies by their names, so that it stays short.
func (a audited) printWalls(s Streams) error {
	counts := map[string]map[attack.Outcome]int{}
	for _, r := range a.Results {
		wall, _, _ := strings.Cut(r.Wall, "/")
		if counts[wall] == nil {
			counts[wall] = map[attack.Outcome]int{}
		}
		counts[wall][r.Outcome]++
	}
	t := newTable(s.Out, "WALL", "HELD", "THROUGH", "NOT TESTED", "EXCEPTED")
	for _, wall := range slices.Sorted(maps.Keys(counts)) {
		row := []string{wall}
		for _, o := range []attack.Outcome{attack.Held, attack.Through, attack.NotTested, attack.Excepted} {
			row = append(row, strconv.Itoa(counts[wall][o]))
		}
		t.row(row...)
	}
	return t.flush()
}

func (a audited) printFindings(s Streams) {
	for _, f := range a.Findings {
		s.say("")
		s.say("%s %s%s", strings.ToUpper(string(f.Severity)), f.ID, about(f))
		s.say("  %s: %s", f.Object, f.Message)
		s.say("  mend: %s", f.Mend)
	}
	if len(a.Findings) > 0 {
		s.say("")
	}
}

func about(f audit.Finding) string {
	switch f.Tenant {
	case "":
		return ""
	case "*":
		return " (all tenants)"
	default:
		return " (tenant " + f.Tenant + ")"
	}
}

// printGaps says what was not tested and why, the commonest reason first.
func (a audited) printGaps(s Streams) {
	for _, l := range a.Lacking {
		s.say("you may not %s", l)
	}
	for _, id := range slices.Sorted(maps.Keys(a.Skipped)) {
		s.say("check %s was not made: %s", id, a.Skipped[id])
	}
	why := map[string]int{}
	for _, r := range a.Results {
		if r.Outcome == attack.NotTested {
			why[oneLine(r.Reason, 160)]++
		}
	}
	if len(why) == 0 {
		return
	}
	s.say("\nNot tested, because:")
	reasons := slices.SortedFunc(maps.Keys(why), func(x, y string) int {
		return cmp.Or(cmp.Compare(why[y], why[x]), cmp.Compare(x, y))
	})
	const most = 12
	for i, r := range reasons {
		if i == most {
			s.say("  ... and %d more reasons: see -o json", len(reasons)-most)
			break
		}
		s.say("  %4d  %s", why[r], r)
	}
	s.say("")
}

// report is the audit as cases.
func (a audited) report() report.Report {
	r := report.Report{Tool: "tenantry", Version: currentVersion().Version, Title: "Tenantry audit of " + a.Server}
	blamed := map[string]audit.Finding{}
	for _, f := range a.Findings {
		blamed[f.Tenant+"/"+f.ID] = f
	}
	for _, res := range a.Results {
		wall, _, _ := strings.Cut(res.Wall, "/")
		c := report.Case{
			Suite: res.Tenant, Group: wall, ID: res.ID, Title: res.Title, Help: res.Attack.Reason(), Message: res.Reason,
			State: map[attack.Outcome]report.State{attack.Held: report.Passed, attack.Through: report.Failed}[res.Outcome],
		}
		if c.State == "" {
			c.State = report.Skipped
		}
		if f, ok := blamed[res.Tenant+"/"+res.ID]; ok && c.State == report.Failed {
			c.Message, c.Object, c.Mend = f.Message, f.Object, f.Mend
		}
		r.Cases = append(r.Cases, c)
	}
	r.Cases = append(r.Cases, a.checks()...)
	return r
}

// checks are the looks at the cluster as cases: one for each finding, or one that passed.
func (a audited) checks() []report.Case {
	if a.Skipped == nil {
		return nil
	}
	var all []report.Case
	for _, check := range audit.Checks() {
		c := report.Case{Suite: "cluster", Group: check.ID, ID: check.ID, Title: check.Title, State: report.Passed}
		if why := a.Skipped[check.ID]; why != "" {
			c.State, c.Message = report.Skipped, why
		}
		found := false
		for _, f := range a.Findings {
			if f.ID != check.ID {
				continue
			}
			found = true
			one := c
			one.State = map[audit.Severity]report.State{audit.Error: report.Failed, audit.Warning: report.Warned, audit.Info: report.Passed}[f.Severity]
			one.Message, one.Object, one.Mend = f.Object+": "+f.Message, f.Object, f.Mend
			all = append(all, one)
		}
		if !found {
			all = append(all, c)
		}
	}
	return all
}
