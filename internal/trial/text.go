// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tenantry/tenantry/internal/words"
)

// Text writes a run for a terminal.
func Text(out io.Writer, r *Run) error {
	w := &printer{out: out}
	for i := range r.Clusters {
		w.cluster(&r.Clusters[i])
	}
	w.differences(r.Differences)
	verdict := "Passed"
	if !r.Passed {
		verdict = "Failed"
	}
	w.line("\n%s: %s in %s.", verdict, words.Count(len(r.Clusters), "cluster"), seconds(r.Seconds))
	return w.err
}

// printer keeps the first error of writing.
type printer struct {
	out io.Writer
	err error
}

func (w *printer) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

func seconds(s float64) string { return fmt.Sprintf("%.1f s", s) }

func verdict(passed bool) string {
	if passed {
		return "passed"
	}
	return "FAILED"
}

func (w *printer) cluster(c *Cluster) {
	w.line("\n%s: %s in %s", c.Title(), verdict(c.Passed), seconds(c.Seconds))
	if c.Error != "" {
		w.line("  %s", indent(c.Error, "  "))
		return
	}
	if c.Late {
		w.line("  The time was over (--timeout) before all came to rest.")
	}
	w.items(c)
	for _, i := range c.Bad() {
		w.line("\n  %s %s %s: %s", mark(i), i.Kind, i.At(), indent(i.Message, "    "))
		if i.File != "" {
			w.line("    from %s", i.Where())
		}
	}
	for _, i := range c.Items {
		if i.Health == Refused {
			w.line("\n  Refused as expected: %s %s\n    %s", i.Kind, i.At(), oneLine(i.Message))
		}
	}
	w.attacks(c)
	w.expectations(c)
	w.asides(c)
}

// listed is how many tenants are listed whole; of more, those that are fine are counted.
const listed = 20

func (w *printer) items(c *Cluster) {
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "  \tTENANT\tKIND\tNAME\tHEALTH\tAFTER\tREVISION") // flush tells
	var fine []string
	if tenants := c.Tenants(); len(tenants) > listed {
		fine = slices.DeleteFunc(tenants, func(t string) bool { return !c.Fine(t) })
		defer func() { w.line("  ✔ and %s of which all is as declared", words.Count(len(fine), "tenant")) }()
	}
	for _, i := range c.Items {
		if slices.Contains(fine, i.Tenant) {
			continue
		}
		_, _ = fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\n", mark(i), i.Tenant, i.Kind, i.At(), i.Health, seconds(i.To), words.Short(i.Revision))
	}
	if err := t.Flush(); w.err == nil {
		w.err = err
	}
}

func mark(i Item) string {
	switch {
	case i.Good():
		return "✔"
	case i.Health == "Progressing":
		return "◌"
	default:
		return "✗"
	}
}

func (w *printer) attacks(c *Cluster) {
	w.line("\n  Attacks:")
	if len(c.Attacks) == 0 {
		w.line("    nobody was attacked")
	}
	alike := map[string]*Attacked{}
	for _, a := range c.Attacks {
		if a.Alike == "" {
			w.line("    %s: %s", a.Tenant, a.Sum())
			continue
		}
		sum := alike[a.Alike]
		if sum == nil {
			sum = &Attacked{}
			alike[a.Alike] = sum
		}
		sum.Walls = append(sum.Walls, a.Sum())
	}
	for _, of := range slices.Sorted(maps.Keys(alike)) {
		sum := alike[of]
		w.line("    %s like %s but for their names, one attack for each policy: %s", words.Count(len(sum.Walls), "tenant"), of, sum.Sum())
	}
	for _, f := range c.Findings {
		severity := "warning"
		if f.Error {
			severity = "ERROR"
		}
		tenant := ""
		if f.Tenant != "" {
			tenant = " (tenant " + f.Tenant + ")"
		}
		w.line("    %s %s%s: %s: %s\n      mend: %s", severity, f.ID, tenant, f.Object, f.Message, f.Mend)
	}
}

func (w *printer) expectations(c *Cluster) {
	if len(c.Expectations) > 0 {
		w.line("\n  Expectations:")
	}
	for _, e := range c.Expectations {
		if e.Passed {
			w.line("    ✔ %s", e.Name)
			continue
		}
		w.line("    ✗ %s (%s)\n      expected: %s\n      seen:     %s", e.Name, e.Where(), e.Expected, indent(e.Seen, "                "))
	}
}

func (w *printer) asides(c *Cluster) {
	if len(c.Asides)+len(c.Unmapped) > 0 {
		w.line("\n  Not as on a real cluster:")
	}
	for _, a := range c.Asides {
		w.line("    %s: %s: %s", a.What, a.Object, a.Why)
	}
	for _, u := range c.Unmapped {
		w.line("    not served: %s", u)
	}
	if len(c.Unmapped) > 0 {
		w.line("      serve a directory for what is missing with --map URL=DIR, or go there with --network")
	}
	if len(c.Kubeconfigs) > 0 {
		w.line("\n  Kubeconfigs:")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Kubeconfigs)) {
		w.line("    %-16s %s", name, c.Kubeconfigs[name])
	}
}

func (w *printer) differences(all []Difference) {
	for i, d := range all {
		if i == 0 || all[i-1].Cluster != d.Cluster || all[i-1].To != d.To {
			w.line("\n%s, from Kubernetes %s to %s:", d.Cluster, d.From, d.To)
		}
		w.line("  %s\n    %s: %s\n    %s: %s", d.What, d.From, oneLine(d.Before), d.To, oneLine(d.After))
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// indent keeps the lines after the first below it.
func indent(s, by string) string { return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  "+by) }
