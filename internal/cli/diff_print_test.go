// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tenantry/tenantry/internal/diff"
)

// What a tenant calls its objects makes no markup, no commands of a CI and no colors.
func TestNamesMakeNoMarkup(t *testing.T) {
	t.Parallel()
	const evil = "a`b|c\n::error::x\r```\n# head @team <b>\x1b[31m"
	d := diff.Diff{
		Changes: []diff.Change{{Clusters: []string{evil}, Tenant: evil, Object: evil, Verb: diff.Changed, From: evil, Fields: []diff.Field{{Path: evil, Before: evil, After: evil}}}},
		Lists:   []diff.List{{Clusters: []string{evil}, Tenant: evil, Name: evil, Added: []string{evil}}},
		Reach:   []diff.Reach{{Clusters: []string{evil}, Who: evil, Role: evil, Namespaces: []string{evil}}},
	}
	for _, output := range []string{"", "markdown"} {
		out := &bytes.Buffer{}
		if err := printDiff(Streams{Out: out, Err: out}, output, d, "since HEAD"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			for _, bad := range []string{"::error", "# head"} {
				if strings.HasPrefix(line, bad) {
					t.Errorf("%q: %q", output, line)
				}
			}
			if strings.ContainsAny(line, "\x1b\r") {
				t.Errorf("%q: %q", output, line)
			}
		}
		head, _, _ := strings.Cut(out.String(), "```diff")
		_, summary, _ := strings.Cut(head, "<summary>")
		if output == "markdown" && (strings.Count(out.String(), "```") != 2 || strings.Contains(summary, "<b>")) {
			t.Errorf("%s", out)
		}
	}
}

func TestACommentHasABound(t *testing.T) {
	t.Parallel()
	d := diff.Diff{}
	for range 5_000 {
		d.Reach = append(d.Reach, diff.Reach{Clusters: []string{"production"}, Who: "User " + strings.Repeat("x", 50), Role: "admin", Namespaces: []string{"a"}})
	}
	if n := len(markdown(d, "since HEAD")); n > 60_000 {
		t.Errorf("%d bytes, and GitHub takes 65,536", n)
	}
}
