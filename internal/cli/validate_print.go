// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tenantry/tenantry/internal/lint"
	"github.com/tenantry/tenantry/internal/report"
	"github.com/tenantry/tenantry/internal/words"
)

// printFindings prints what was found, for people or for programs.
func printFindings(s Streams, output string, r *lint.Report, took time.Duration) error {
	switch output {
	case "json", "yaml":
		if r.Findings == nil {
			r.Findings = []lint.Finding{}
		}
		return printAs(s.Out, output, r)
	case "sarif":
		return report.SARIF(s.Out, findingCases(r))
	case "junit":
		return report.JUnit(s.Out, findingCases(r))
	case "github":
		if err := report.GitHub(s.Out, findingCases(r)); err != nil {
			return err
		}
		s.say("%s", checkedIn(r, took))
		return nil
	}
	color := terminal(s.Out)
	for _, f := range r.Findings {
		clusters := ""
		if len(f.Clusters) > 0 && len(f.Clusters) < r.Clusters {
			clusters = " (" + strings.Join(f.Clusters, ", ") + ")"
		}
		s.say("%s: %s: %s%s [%s]", f.Place(), painted(color, f.Severity), f.What, clusters, f.Rule)
		if f.Mend != "" {
			s.say("    %s", f.Mend)
		}
	}
	if len(r.Unchecked) > 0 {
		s.say("Not checked:")
		for _, u := range r.Unchecked {
			s.say("    %s: %s", u.What, u.Why)
		}
	}
	s.say("%s", checkedIn(r, took))
	if len(r.Findings) > 0 {
		_, _ = fmt.Fprintf(s.Err, "Next: tenantry validate --explain %s says more of a rule.\n", r.Findings[0].Rule) // nobody to tell
	}
	return nil
}

func painted(color bool, severity lint.Severity) string {
	if !color {
		return string(severity)
	}
	return map[lint.Severity]string{lint.Error: "\x1b[31merror\x1b[0m", lint.Warning: "\x1b[33mwarning\x1b[0m"}[severity]
}

func checkedIn(r *lint.Report, took time.Duration) string {
	found := "nothing to mend"
	if len(r.Findings) > 0 {
		found = words.Count(r.Count(lint.Error), "error") + ", " + words.Count(r.Count(lint.Warning), "warning")
	}
	if n := len(r.Allowed); n > 0 {
		found += fmt.Sprintf(", %d allowed", n)
	}
	return fmt.Sprintf("%s, %s, %s and %s in %s: %s",
		words.Count(r.Files, "file"), words.Count(r.Objects, "object"), words.Count(r.Clusters, "cluster"), words.Count(r.Tenants, "tenant"), took.Round(10*time.Millisecond), found)
}

// findingCases are the findings as cases; one that passed when there are none, so that
// who reads them sees that something was checked.
func findingCases(r *lint.Report) report.Report {
	out := report.Report{Tool: "tenantry", Version: currentVersion().Version, Title: "tenantry validate"}
	for _, f := range r.Findings {
		rule, _ := lint.Find(f.Rule)
		c := report.Case{
			Suite: filepath.ToSlash(f.File), Group: "", ID: f.Rule, Title: rule.Title, State: report.Failed,
			Message: f.What, Object: f.Object, Mend: f.Mend, Help: rule.Why,
			File: filepath.ToSlash(f.File), Line: f.Line, Column: f.Column,
		}
		if f.Severity == lint.Warning {
			c.State = report.Warned
		}
		out.Cases = append(out.Cases, c)
	}
	for _, u := range r.Unchecked {
		out.Cases = append(out.Cases, report.Case{Suite: "not checked", ID: "unchecked", Title: u.What, State: report.Skipped, Message: u.Why})
	}
	if len(out.Cases) == 0 {
		out.Cases = append(out.Cases, report.Case{Suite: "validate", ID: "validate", Title: fmt.Sprintf("%d files", r.Files), State: report.Passed})
	}
	return out
}

// explainRule says what a rule is, or lists all.
func explainRule(s Streams, id, output string) error {
	if id == "list" {
		if output != "" {
			return printAs(s.Out, output, lint.Rules())
		}
		t := newTable(s.Out, "RULE", "SEVERITY", "WHAT IT FINDS")
		for _, r := range lint.Rules() {
			t.row(r.ID, string(r.Severity), r.Title)
		}
		t.row("POLICY/RULE", string(lint.Error), "An admission policy of Tenantry would refuse it; docs/reference/policies lists them")
		return t.flush()
	}
	r, ok := lint.Find(id)
	if !ok {
		return usagef("there is no rule %s; see tenantry validate --explain list", id)
	}
	if output != "" {
		return printAs(s.Out, output, r)
	}
	return printLines(s, [][2]string{{"Rule", r.ID}, {"Severity", string(r.Severity)}, {"What", r.Title}, {"Why it matters", r.Why}, {"Mend", r.Mend}, {"To let one stand", "# tenantry:allow " + r.ID + ": REASON"}})
}
