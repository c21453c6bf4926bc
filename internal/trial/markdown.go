// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes a run as a comment on a pull request: what failed first, the rest
// folded.
func Markdown(out io.Writer, r *Run) error {
	w := &printer{out: out}
	head := "✅ The fleet runs"
	if !r.Passed {
		head = "❌ The fleet does not run"
	}
	w.line("### %s\n", head)
	w.line("| cluster | Kubernetes | | Ready | attacks held | got through | expectations | time |\n|---|---|---|---|---|---|---|---|")
	for _, c := range r.Clusters {
		var sum Wall
		for _, a := range c.Attacks {
			s := a.Sum()
			sum.Held += s.Held
			sum.Through += s.Through
		}
		met := 0
		for _, e := range c.Expectations {
			if e.Passed {
				met++
			}
		}
		held, through := fmt.Sprint(sum.Held), fmt.Sprint(sum.Through)
		if len(c.Attacks) == 0 {
			held, through = "none tried", ""
		}
		w.line("| %s | %s | %s | %d of %d | %s | %s | %d of %d | %s |", cellText(c.Name), c.Kubernetes, verdict(c.Passed),
			len(c.Items)-len(c.Bad()), len(c.Items), held, through, met, len(c.Expectations), seconds(c.Seconds))
	}
	for i := range r.Clusters {
		w.troubles(&r.Clusters[i])
	}
	if len(r.Differences) > 0 {
		w.line("\n#### Between versions of Kubernetes\n\n| cluster | what | before | after |\n|---|---|---|---|")
		for _, d := range r.Differences {
			w.line("| %s | %s | %s: %s | %s: %s |", cellText(d.Cluster), cellText(d.What), d.From, cellText(d.Before), d.To, cellText(d.After))
		}
	}
	for i := range r.Clusters {
		w.folded(&r.Clusters[i])
	}
	return w.err
}

// cellText is text that breaks no table and is no markup: it may be a tenant's own words.
func cellText(s string) string { return markup.Replace(oneLine(s)) }

var markup = strings.NewReplacer(
	"|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "!", `\!`, "#", `\#`,
	"@", "@\u200b", "://", ":\u200b//", // neither mentions anybody nor is made a link
)

// code is text of others, fenced by more backticks than it has.
func code(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSpace(s) + "\n" + fence
}

func (w *printer) troubles(c *Cluster) {
	if c.Passed {
		return
	}
	w.line("\n#### %s\n", cellText(c.Title()))
	if c.Error != "" {
		w.line("%s", code(c.Error))
	}
	if c.Late {
		w.line("The time was over before all came to rest.\n")
	}
	for _, i := range c.Bad() {
		from := ""
		if i.File != "" {
			from = fmt.Sprintf(", from `%s`", strings.ReplaceAll(i.Where(), "`", "'"))
		}
		w.line("**%s %s** is %s%s\n\n%s\n", cellText(i.Kind), cellText(i.At()), i.Health, from, code(i.Message))
	}
	for _, f := range c.Findings {
		if f.Error {
			w.line("**%s** opens a wall: %s: %s. %s\n", cellText(f.ID), cellText(f.Object), cellText(f.Message), cellText(f.Mend))
		}
	}
	for _, e := range c.Expectations {
		if !e.Passed {
			w.line("**%s** (`%s`)\n\n- expected: %s\n- seen: %s\n", cellText(e.Name), strings.ReplaceAll(e.Where(), "`", "'"), cellText(e.Expected), cellText(e.Seen))
		}
	}
}

func (w *printer) folded(c *Cluster) {
	if len(c.Asides)+len(c.Unmapped) == 0 {
		return
	}
	w.line("\n<details><summary>%s: not as on a real cluster (%d)</summary>\n", cellText(c.Title()), len(c.Asides)+len(c.Unmapped))
	for _, a := range c.Asides {
		w.line("- %s: %s: %s", cellText(a.What), cellText(a.Object), cellText(a.Why))
	}
	for _, u := range c.Unmapped {
		w.line("- not served: %s", cellText(u))
	}
	w.line("\n</details>")
}
