// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/tenantry/tenantry/internal/survey"
	"github.com/tenantry/tenantry/internal/words"
)

// surveyTable is how rows of a kind are printed.
type surveyTable struct {
	kind   survey.Kind
	header []string
	wide   []string
	cells  func(survey.Row) []string
	more   func(survey.Row) []string
}

var surveyTables = []surveyTable{
	{
		survey.Tenant, []string{"TENANT", "READY", "SYNCED", "NAMESPACES", "OWNERS", "AGE"}, []string{"MESSAGE"},
		func(r survey.Row) []string {
			return []string{r.Name, r.Ready, dash(r.Synced), fmt.Sprint(len(r.Namespaces)), dash(r.Owners), ageOf(r)}
		},
		message,
	},
	{
		survey.Namespace, []string{"TENANT", "NAMESPACE", "ORIGIN", "STATE", "AGE"}, nil,
		func(r survey.Row) []string {
			return []string{r.Tenant, r.Name, dash(r.Origin), dash(r.State), ageOf(r)}
		},
		nil,
	},
	{
		survey.Source, []string{"TENANT", "SOURCE", "REVISION", "SUSPENDED", "READY", "MESSAGE"}, []string{"URL"}, fluxCells,
		func(r survey.Row) []string { return []string{r.From} },
	},
	{
		survey.Sync, []string{"TENANT", "SYNC", "REVISION", "SUSPENDED", "READY", "MESSAGE"}, []string{"FROM"}, fluxCells,
		func(r survey.Row) []string { return []string{dash(r.From)} },
	},
}

func fluxCells(r survey.Row) []string {
	suspended := "False"
	if r.Suspended {
		suspended = "True"
	}
	return []string{r.Tenant, r.Object + "/" + r.Namespace + "/" + r.Name, dash(words.Short(r.Revision)), suspended, r.Ready, message(r)[0]}
}

func message(r survey.Row) []string { return []string{oneLine(words.Short(r.Message), 200)} }

func ageOf(r survey.Row) string {
	if r.Created.IsZero() {
		return "-"
	}
	return duration.HumanDuration(time.Since(r.Created))
}

// printSurvey prints a table for each kind that there is anything of. With several
// clusters each row says which, and what differs.
func printSurvey(s Streams, result survey.Result, o getOptions, several, whole bool) error {
	printed := false
	for _, t := range surveyTables {
		var rows []survey.Row
		for _, r := range result.Rows {
			if r.Kind == t.kind {
				rows = append(rows, r)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if printed && whole {
			_, _ = io.WriteString(s.Out, "\n") // the table tells
		}
		printed = true
		if err := t.print(s.Out, rows, o.output == "wide", several, whole); err != nil {
			return err
		}
	}
	for _, a := range result.Clusters {
		if a.Error == "" {
			continue
		}
		printed = true
		if _, err := fmt.Fprintf(s.Out, "%s   does not answer: %s\n", a.Cluster, oneLine(a.Error, 200)); err != nil {
			return err
		}
	}
	if !printed && whole {
		_, err := fmt.Fprintln(s.Err, "Nothing found.")
		return err
	}
	return nil
}

func (t surveyTable) print(w io.Writer, rows []survey.Row, wide, several, header bool) error {
	head := append([]string{}, t.header...)
	if several {
		head = append([]string{"CLUSTER"}, head...)
	}
	if wide {
		head = append(head, t.wide...)
	}
	if several {
		head = append(head, "DIFFERS")
	}
	table := newTable(w)
	if header {
		table.row(head...)
	}
	for _, r := range rows {
		cells := t.cells(r)
		if several {
			cells = append([]string{r.Cluster}, cells...)
		}
		if wide && t.more != nil {
			cells = append(cells, t.more(r)...)
		}
		if several {
			cells = append(cells, orNone(r.Differs))
		}
		table.row(cells...)
	}
	return table.flush()
}
