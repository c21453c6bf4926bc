// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tenantry/tenantry/internal/lint"
)

// told is all that a report says of a repository, as people read it.
func told(r *lint.Report, dir string) string {
	out := &strings.Builder{}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "%s: %s: %s [%s]\n    %s\n", f.Place(), f.Severity, f.What, f.Rule, f.Mend)
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(out, "not checked: %s: %s\n", u.What, u.Why)
	}
	return strings.ReplaceAll(out.String(), dir+"/", "")
}

func unpack(t testing.TB, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		full := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The layouts that people have, in findings and in what is said of what can't be seen.
func TestLayouts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/layouts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := &archive.Files[len(archive.Files)-1]
			dir := unpack(t, &txtar.Archive{Files: archive.Files[:len(archive.Files)-1]})
			got := told(run(t, dir), dir)
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
