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
