// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"
)

// printAs prints a value for programs.
func printAs(w io.Writer, format string, v any) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	case "yaml":
		bytes, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(bytes)
		return err
	default:
		return usagef("output %q is not known; use json or yaml", format)
	}
}

// table prints rows in columns.
type table struct{ w *tabwriter.Writer }

// minWidth keeps the rows that a watch prints later below the first ones.
const minWidth = 10

func newTable(w io.Writer, header ...string) *table {
	t := &table{tabwriter.NewWriter(w, minWidth, 0, 3, ' ', 0)}
	if len(header) > 0 {
		t.row(header...)
	}
	return t
}

func (t *table) row(cells ...string) {
	_, _ = io.WriteString(t.w, strings.Join(cells, "\t")+"\n") // flush tells
}

func (t *table) flush() error { return t.w.Flush() }

// oneLine keeps a message from breaking a table.
func oneLine(message string, most int) string {
	message = strings.Join(strings.Fields(message), " ")
	return cut(message, most)
}

// cut shortens a line to so many characters.
func cut(line string, most int) string {
	if r := []rune(line); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return line
}
