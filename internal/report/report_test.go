// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/tenantry/tenantry/internal/report"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestFormats writes one report in every format. What it says may come from a cluster,
// so it has characters that formats give a meaning.
func TestFormats(t *testing.T) {
	t.Parallel()
	r := report.Report{Tool: "tenantry", Version: "v1", Title: "audit of <here> & there", Cases: []report.Case{
		{Suite: "oil", Group: "rbac", ID: "read", Title: "read another's Secrets", State: report.Passed, Help: "why"},
		{Suite: "oil", Group: "pods", ID: "root", Title: "run as <root>", State: report.Failed, Message: `got through "so"`, Object: "RoleBinding oil/x", Mend: "remove it", Help: "A & B"},
		{Suite: "oil", Group: "pods", ID: "late", Title: "come late", State: report.Skipped, Message: "nobody there"},
		{Suite: "cluster", Group: "webhooks", ID: "webhooks", Title: "no webhook stops tenants", State: report.Warned, Message: "one does </script><script>alert(1)</script>", Object: "ValidatingWebhookConfiguration x", Mend: "mend it"},
	}}
	for name, write := range map[string]func(io.Writer, report.Report) error{
		"report.xml": report.JUnit, "report.sarif": report.SARIF, "report.html": report.HTML,
	} {
		var out bytes.Buffer
		if err := write(&out, r); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, name, out.String())
	}
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	out := &bytes.Buffer{}
	if err := report.GitHub(out, report.Report{Cases: []report.Case{
		{ID: "a/b", Title: "t, u: v", State: report.Failed, Message: "100%\n::error::x", Mend: "do", File: "a b.yaml", Line: 3, Column: 5},
		{ID: "c", Title: "w", State: report.Warned, Message: "m"},
		{ID: "d", State: report.Passed, Message: "p"},
	}}); err != nil {
		t.Fatal(err)
	}
	want := "::error title=a/b%3A t%2C u%3A v,file=a b.yaml,line=3,col=5::100%25%0A::error::x%0Ado\n::warning title=c%3A w::m\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
}
