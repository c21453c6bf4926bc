// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/tenantry/tenantry/internal/report"
)

// sample is a run with one of everything.
func sample() *Run {
	return &Run{
		Fleet: "fleet", Version: "v1", Seconds: 61.5,
		Clusters: []Cluster{
			{
				Name: "staging", Kubernetes: "1.36", Seconds: 30,
				Steps: []Step{{"start Kubernetes", 0, 6}, {"attack 2 tenants", 20, 28}},
				Items: []Item{
					{Kind: "Kustomization", Namespace: "flux-system", Name: "tenants", Health: Ready, Revision: "main@sha1:0123456789abcdef", From: 6, To: 12},
					{Tenant: "oil", Kind: "Tenant", Name: "oil", Health: Ready, From: 9, To: 10},
					{
						Tenant: "oil", Kind: "Sync", Namespace: "oil", Name: "apps", Health: "Failed", From: 10, To: 14,
						Message: "ConfigMap/oil-web/a | b dry-run failed:\n<script>alert(1)</script> `x` is forbidden", File: "fleet/oil.yaml", Line: 7,
					},
					{Tenant: "gas", Kind: "Tenant", Name: "gas", Health: Ready, From: 9, To: 10},
					{Tenant: "gas", Kind: "Kustomization", Namespace: "gas", Name: "wrong", Health: Refused, Message: "is forbidden: as it should be", From: 10, To: 13},
				},
				Attacks: []Attacked{
					{Tenant: "oil", Walls: []Wall{{Name: "rbac", Held: 12}, {Name: "quota", NotTested: 1}}},
					{Tenant: "gas", Walls: []Wall{{Name: "rbac", Held: 11, Through: 1}, {Name: "network", Excepted: 2}}},
				},
				Findings:     []Finding{{ID: "rbac-x", Error: true, Tenant: "gas", Object: "RoleBinding gas/x", Message: "it binds too much", Mend: "Remove it."}},
				Expectations: []Expectation{{Name: "met", File: "tests/a.yaml", Line: 3, Passed: true, Expected: "ready", Seen: "ready", Seconds: 0.1}, {Name: "missed", File: "tests/a.yaml", Line: 9, Expected: "refused by rbac", Seen: "allowed"}},
				Asides:       []Aside{{"webhook", "ValidatingWebhookConfiguration w", "it is not asked"}},
				Unmapped:     []string{"https://charts.example.com/index.yaml"},
			},
			{
				Name: "staging", Kubernetes: "1.35", Seconds: 31,
				Items: []Item{{Tenant: "oil", Kind: "Tenant", Name: "oil", Health: Ready}},
			},
			{Name: "production", Kubernetes: "1.36", Error: "start Kubernetes: etcd died"},
		},
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	good := func() Cluster {
		return Cluster{Name: "a", Items: []Item{{Kind: "Kustomization", Name: "x", Health: Ready}, {Kind: "Sync", Name: "y", Health: Refused}}}
	}
	for name, tc := range map[string]struct {
		change func(*Cluster)
		want   bool
	}{
		"all as declared":                {func(*Cluster) {}, true},
		"a warning":                      {func(c *Cluster) { c.Findings = []Finding{{ID: "x"}} }, true},
		"asides":                         {func(c *Cluster) { c.Asides, c.Unmapped = []Aside{{}}, []string{"x"} }, true},
		"it could not be run":            {func(c *Cluster) { c.Error = "x" }, false},
		"nothing is there":               {func(c *Cluster) { c.Items = nil }, false},
		"it took too long":               {func(c *Cluster) { c.Late = true }, false},
		"something failed":               {func(c *Cluster) { c.Items[0].Health = "Failed" }, false},
		"something is still on its way":  {func(c *Cluster) { c.Items[0].Health = "Progressing" }, false},
		"a refusal that was let through": {func(c *Cluster) { c.Items[1].Health = "Breached" }, false},
		"a wall is open":                 {func(c *Cluster) { c.Findings = []Finding{{ID: "x", Error: true}} }, false},
		"an expectation is not met":      {func(c *Cluster) { c.Expectations = []Expectation{{Name: "x"}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := good()
			tc.change(&bad)
			r := &Run{Clusters: []Cluster{good(), bad}}
			r.Judge()
			if r.Passed != tc.want || r.Clusters[1].Passed != tc.want || !r.Clusters[0].Passed {
				t.Errorf("passed is %v, of the clusters %v and %v, want %v", r.Passed, r.Clusters[0].Passed, r.Clusters[1].Passed, tc.want)
			}
		})
	}
	if r := (&Run{}); true {
		if r.Judge(); r.Passed {
			t.Error("a run of no cluster passed")
		}
	}
}

// Two minors of one cluster are compared; two clusters are not.
func TestDifferences(t *testing.T) {
	t.Parallel()
	r := sample()
	r.Judge()
	said := map[string]string{}
	for _, d := range r.Differences {
		if d.Cluster != "staging" || d.From != "1.36" || d.To != "1.35" {
			t.Errorf("%+v compares what is not to be compared", d)
		}
		said[d.What] = d.Before + " -> " + d.After
	}
	for what, want := range map[string]string{
		"Kustomization flux-system/tenants": "Ready -> not there",
		"attacks on tenant gas":             "11 held, 1 GOT THROUGH, 2 excepted -> not there",
		"expectation missed":                "not met: allowed -> not there",
	} {
		if said[what] != want {
			t.Errorf("%s: %q, want %q", what, said[what], want)
		}
	}
	if _, ok := said["Tenant oil"]; ok {
		t.Error("what is the same is a difference")
	}
}

// Each format tells of everything that is wrong, where it is from, and of what was not
// simulated, and breaks at nothing that a message holds.
func TestFormatsTellOfEverything(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write func(io.Writer, *Run) error
		more  []string
		never []string
	}{
		"text":     {Text, []string{"✗ Sync oil/apps", "Refused as expected: Kustomization gas/wrong", "from fleet/oil.yaml:7", "Failed: 3 clusters in 61.5 s", "main@sha1:01234567"}, []string{"0123456789abcdef"}},
		"markdown": {Markdown, []string{"### ❌ The fleet does not run", "| staging | 1.36 | FAILED | 4 of 5 | 23 | 1 | 1 of 2 | 30.0 s |", "`fleet/oil.yaml:7`", "<details>"}, nil},
		"html":     {HTML, []string{"<!doctype html>", "&lt;script&gt;alert(1)", "fleet/oil.yaml:7", `id="c2"`}, []string{"<script>alert", "src=", "http-equiv", "@import"}},
		"junit":    {func(w io.Writer, r *Run) error { return report.JUnit(w, r.Report()) }, []string{"<testsuites", "&lt;script&gt;alert(1)", "expected refused by rbac; seen: allowed"}, []string{"<script>"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, out := sample(), &bytes.Buffer{}
			r.Judge()
			if err := tc.write(out, r); err != nil {
				t.Fatal(err)
			}
			for _, want := range append([]string{
				"staging", "1.35", "etcd died", "dry-run failed", "rbac-x", "it binds too much", "missed", "tests/a.yaml",
				"ValidatingWebhookConfiguration w", "https://charts.example.com/index.yaml",
			}, tc.more...) {
				if name == "markdown" {
					want = strings.ReplaceAll(want, "://", ":\u200b//")
				}
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			for _, never := range tc.never {
				if strings.Contains(out.String(), never) {
					t.Errorf("it holds %q", never)
				}
			}
		})
	}
}

// What tenants write into a comment mentions nobody, links nowhere and is no markup.
func TestMarkdownIsNoMarkupOfOthers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a|b <i> & `x`":              `a\|b &lt;i&gt; &amp; \` + "`x" + `\` + "`",
		"[click](https://x.example)": "\\[click\\](https:\u200b//x.example)",
		"![i](u) *b* _i_ @team #1":   "\\!\\[i\\](u) \\*b\\* \\_i\\_ @\u200bteam \\#1",
		"two\nlines":                 "two lines",
	} {
		if got := cellText(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := code("a ``` b"); !strings.HasPrefix(got, "````\n") {
		t.Errorf("the fence of what has one is %q", got)
	}
}

// A run that was not at its end has a failure for CI, also where nothing failed.
func TestALateRunFailsInCI(t *testing.T) {
	t.Parallel()
	for _, c := range []Cluster{{Name: "a", Late: true, Items: []Item{{Kind: "Tenant", Name: "x", Health: Ready}}}, {Name: "a"}} {
		r := &Run{Clusters: []Cluster{c}}
		r.Judge()
		if out := r.Report(); r.Passed || out.Cases[0].State != report.Failed {
			t.Errorf("passed is %v, and the first case %+v", r.Passed, out.Cases[0])
		}
	}
}

// A timeline's bars lie within it.
func TestBarsLieWithinTheTimeline(t *testing.T) {
	t.Parallel()
	r := sample()
	page := clusterPage{Cluster: &r.Clusters[0]}
	if len(page.Bars()) != 7 {
		t.Errorf("%d bars, want 2 steps and 5 items", len(page.Bars()))
	}
	for _, b := range page.Bars() {
		if b.Left < 0 || b.Width <= 0 || b.Left+b.Width > 100.5 {
			t.Errorf("%s lies from %v%%, %v%% wide", b.Name, b.Left, b.Width)
		}
	}
	if ticks := page.Ticks(); len(ticks) < 3 || len(ticks) > 11 {
		t.Errorf("%d ticks", len(ticks))
	}
}
