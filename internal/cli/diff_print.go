// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/tenantry/tenantry/internal/diff"
	"github.com/tenantry/tenantry/internal/words"
)

var marks = map[diff.Verb]string{diff.Added: "+", diff.Changed: "~", diff.Removed: "-"}

// printDiff prints what a change does.
func printDiff(s Streams, output string, d diff.Diff, since string) error {
	switch output {
	case "json", "yaml":
		return printAs(s.Out, output, d)
	case "markdown":
		_, err := fmt.Fprint(s.Out, markdown(d, since))
		return err
	}
	if d.Empty() {
		s.say("No cluster gets anything else (%s).", since)
		return nil
	}
	tenant := "\x00"
	for _, c := range d.Changes {
		if c.Tenant != tenant {
			tenant = c.Tenant
			s.say("%s", legible(heading(tenant)))
		}
		s.say("  %s", legible(fmt.Sprintf("%s %s (%s)  %s", marks[c.Verb], c.Object, strings.Join(c.Clusters, ", "), c.From)))
		for _, f := range c.Fields {
			s.say("      %s", legible(fmt.Sprintf("%s: %s -> %s", f.Path, short(f.Before), short(f.After))))
		}
	}
	if len(d.Lists) > 0 {
		s.say("What admission policies read")
	}
	for _, l := range d.Lists {
		s.say("  %s", legible(fmt.Sprintf("%s (%s)  %s: %s", l.Tenant, strings.Join(l.Clusters, ", "), l.Name, listed(l))))
	}
	if len(d.Reach) > 0 {
		s.say("Who may do what")
	}
	for _, r := range d.Reach {
		s.say("  %s", legible(fmt.Sprintf("%s %s (%s)  %s in %s", map[bool]string{true: "+", false: "-"}[r.Gained], r.Who, strings.Join(r.Clusters, ", "), r.Role, reachedIn(r))))
	}
	s.say("%s", totals(d))
	return nil
}

func heading(tenant string) string {
	if tenant == "" {
		return "Platform"
	}
	return "Tenant " + tenant
}

func totals(d diff.Diff) string {
	return fmt.Sprintf("%d added, %d changed, %d removed", d.Count(diff.Added), d.Count(diff.Changed), d.Count(diff.Removed))
}

func listed(l diff.List) string {
	var parts []string
	for _, e := range l.Added {
		parts = append(parts, "+ "+e)
	}
	for _, e := range l.Removed {
		parts = append(parts, "- "+e)
	}
	return strings.Join(parts, ", ")
}

func reachedIn(r diff.Reach) string {
	if len(r.Namespaces) == 0 {
		return "the whole cluster"
	}
	return strings.Join(r.Namespaces, ", ")
}

// longestValue is how many characters of a value are shown.
const longestValue = 100

func short(v any) string {
	if v == nil {
		return "(none)"
	}
	content, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return cut(string(content), longestValue)
}

// most is how many changes of a tenant a comment shows: GitHub takes 65,536 characters.
const most = 60

// markdown is the comment for a pull request.
func markdown(d diff.Diff, since string) string {
	b := &strings.Builder{}
	if d.Empty() {
		fmt.Fprintf(b, "### Fleet: no cluster gets anything else\n\nCompared with what it was %s.\n", strings.TrimPrefix(since, "since "))
		return b.String()
	}
	fmt.Fprintf(b, "### Fleet: %s\n\n", totals(d))
	for _, n := range d.NewClusters {
		fmt.Fprintf(b, "New cluster %s\n\n", code(n))
	}
	for _, n := range d.GoneClusters {
		fmt.Fprintf(b, "Cluster %s goes\n\n", code(n))
	}
	if len(d.Reach) > 0 {
		b.WriteString("**Who may do what**\n\n| | who | role | namespaces | clusters |\n|---|---|---|---|---|\n")
		for _, r := range d.Reach {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", map[bool]string{true: "gains", false: "loses"}[r.Gained], code(r.Who), code(r.Role), code(reachedIn(r)), code(strings.Join(r.Clusters, ", ")))
		}
		b.WriteString("\n")
	}
	if len(d.Lists) > 0 {
		b.WriteString("**What admission policies read**\n\n| tenant | list | change | clusters |\n|---|---|---|---|\n")
		for _, l := range d.Lists {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(l.Tenant), code(l.Name), code(listed(l)), code(strings.Join(l.Clusters, ", ")))
		}
		b.WriteString("\n")
	}
	for i := 0; i < len(d.Changes); {
		j := i
		for j < len(d.Changes) && d.Changes[j].Tenant == d.Changes[i].Tenant {
			j++
		}
		fmt.Fprintf(b, "<details><summary>%s: %s</summary>\n\n```diff\n", summaryOf(d.Changes[i].Tenant), words.Count(j-i, "object"))
		for n, c := range d.Changes[i:j] {
			if n == most {
				fmt.Fprintf(b, "# and %d more\n", j-i-most)
				break
			}
			fmt.Fprintf(b, "%s %s (%s)\n", map[diff.Verb]string{diff.Added: "+", diff.Changed: "!", diff.Removed: "-"}[c.Verb], fenced(c.Object), fenced(strings.Join(c.Clusters, ", ")))
			for _, f := range c.Fields {
				fmt.Fprintf(b, "#   %s: %s -> %s\n", fenced(f.Path), fenced(short(f.Before)), fenced(short(f.After)))
			}
		}
		b.WriteString("```\n\n</details>\n\n")
		i = j
		if b.Len() > longestComment && i < len(d.Changes) {
			fmt.Fprintf(b, "And %s more, which are too many for a comment: `tenantry diff` prints them.\n", words.Count(len(d.Changes)-i, "object"))
			break
		}
	}
	if b.Len() > 2*longestComment {
		return b.String()[:2*longestComment] + "\n\nAnd more, which is too much for a comment: `tenantry diff` prints it.\n"
	}
	return b.String()
}

// longestComment is about how many bytes a comment has before it says that there is more.
const longestComment = 25_000

// summaryOf is a heading as HTML.
func summaryOf(tenant string) string {
	if tenant == "" {
		return heading(tenant)
	}
	return "Tenant <code>" + html.EscapeString(strings.ReplaceAll(legible(tenant), "`", "'")) + "</code>"
}

// code is a text as code in a table: what a tenant writes makes no markup.
func code(text string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "\\|").Replace(legible(text)) + "`"
}

// fenced is a text that can't end a fence.
func fenced(text string) string {
	return strings.ReplaceAll(legible(text), "```", "'''")
}
