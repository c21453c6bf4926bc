// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tenantry/tenantry/internal/cli"
)

// FuzzExport compiles whatever comes on standard input.
func FuzzExport(f *testing.F) {
	f.Add("apiVersion: tenantry.dev/v1alpha1\nkind: Tenant\nmetadata: {name: oil}\nspec: {owners: [{kind: User, name: a}], quota: {pods: '1'}}\n")
	f.Add("---\n--- \nkind: Tenant\n")
	f.Fuzz(func(t *testing.T, content string) {
		var out, stderr bytes.Buffer
		code := cli.Run(t.Context(), []string{"tenant", "export", "-"}, cli.Streams{In: strings.NewReader(content), Out: &out, Err: &stderr})
		if (code == 0) != (stderr.Len() == 0) {
			t.Errorf("exit code %d and %q", code, stderr.String())
		}
	})
}
