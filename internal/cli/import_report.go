// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/migrate"
)

// printReport prints what became of what was imported.
func printReport(s Streams, output string, result migrate.Result) error {
	if output != "" {
		var names []string
		for _, t := range result.Tenants {
			names = append(names, t.Tenant.Name)
		}
		return printAs(s.Out, output, struct {
			Tenants []string       `json:"tenants"`
			Notes   []migrate.Note `json:"notes"`
		}{names, append([]migrate.Note{}, result.Notes...)})
	}
	for _, part := range []struct {
		verdict migrate.Verdict
		title   string
	}{
		{migrate.Do, "For you to do"},
		{migrate.Stricter, "Stricter from now on"},
		{migrate.Changed, "Means something else, or lives elsewhere"},
		{migrate.Lost, "Has no equivalent, and is left out"},
	} {
		if err := printNotes(s.Out, part.title, folded(result.Notes, part.verdict)); err != nil {
			return err
		}
	}
	return nil
}

// foldedNote is one thing that is said of several objects.
type foldedNote struct {
	about []string
	what  string
}

// folded are the notes of a verdict; what is said of many is said once.
func folded(notes []migrate.Note, verdict migrate.Verdict) []foldedNote {
	var all []foldedNote
	for _, n := range notes {
		if n.Verdict != verdict {
			continue
		}
		what := n.What
		if n.Field != "" {
			what = n.Field + ": " + what
		}
		about := strings.TrimSpace(n.Object + " (" + n.Place + ")")
		if n.Tenant != "" {
			about = n.Tenant + ": " + about
		}
		i := slices.IndexFunc(all, func(f foldedNote) bool { return f.what == what })
		if i < 0 {
			all = append(all, foldedNote{what: what})
			i = len(all) - 1
		}
		all[i].about = append(all[i].about, about)
	}
	return all
}

func printNotes(w io.Writer, title string, notes []foldedNote) error {
	if len(notes) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "%s:\n", title); err != nil {
		return err
	}
	for _, n := range notes {
		if _, err := fmt.Fprintf(w, "- %s\n", n.what); err != nil {
			return err
		}
		for _, a := range n.about {
			if _, err := fmt.Fprintf(w, "    %s\n", a); err != nil {
				return err
			}
		}
	}
	_, err := io.WriteString(w, "\n")
	return err
}
