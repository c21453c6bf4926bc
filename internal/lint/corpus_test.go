// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/lint"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/tree"
)

var update = flag.Bool("update", false, "write what is found into the corpus")

// broken is the example fleet with the changes that an archive makes: files, or parts of
// them, that are replaced, appended to or deleted.
func broken(t testing.TB, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"fleet", "tenants"} {
		if err := os.CopyFS(filepath.Join(dir, sub), os.DirFS("../../examples/"+sub)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range archive.Files {
		verb, name, ok := strings.Cut(f.Name, " ")
		if !ok {
			verb, name = "", f.Name
		}
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(full)
		switch {
		case name == "want":
			continue
		case verb != "" && err != nil:
			t.Fatal(err)
		case verb == "delete":
			err = os.Remove(full)
		case verb == "append":
			err = os.WriteFile(full, append(before, f.Data...), 0o600)
		case verb == "replace": // a line, and what it becomes; \n and \t as they are in Go
			from, to, _ := strings.Cut(strings.TrimSuffix(string(f.Data), "\n"), "\n")
			escapes := strings.NewReplacer(`\n`, "\n", `\t`, "\t")
			from, to = escapes.Replace(from), escapes.Replace(to)
			if !strings.Contains(string(before), from) {
				t.Fatalf("%s has no %q", name, from)
			}
			err = os.WriteFile(full, []byte(strings.Replace(string(before), from, to, 1)), 0o600)
		default:
			err = os.WriteFile(full, f.Data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// found is what is found in a broken fleet, as people read it.
func found(t testing.TB, dir string) string {
	t.Helper()
	root := filepath.Join(dir, "fleet")
	config, configErr := fleet.ReadConfig(root)
	at := map[string]string{}
	for _, r := range config.Local.Repositories {
		at[r.URL] = filepath.Join(root, r.Dir)
	}
	if configErr != nil {
		at = nil
	}
	r, err := lint.Run(root, render.Options{At: at, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	var mistake *tree.Error
	if errors.As(configErr, &mistake) {
		r.Add("config", mistake.File, mistake.Line, mistake.What)
	}
	out := &strings.Builder{}
	for _, f := range r.Findings {
		clusters := ""
		if len(f.Clusters) == 1 {
			clusters = " (" + f.Clusters[0] + ")"
		}
		fmt.Fprintf(out, "%s: %s: %s%s [%s]\n    %s\n", f.Place(), f.Severity, f.What, clusters, f.Rule, f.Mend)
	}
	return strings.ReplaceAll(out.String(), dir+"/", "")
}

// Each broken fleet has the finding that a person would hope for, and no other.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(files) < 60 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			last := &archive.Files[len(archive.Files)-1]
			got := found(t, broken(t, archive))
			if *update {
				last.Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(last.Data), got); diff != "" {
				t.Error(diff)
			}
			if strings.Count(got, "\n    ") != 1 && !strings.Contains(string(archive.Comment), "Several") {
				t.Errorf("want one finding:\n%s", got)
			}
		})
	}
}

func TestTheExampleHasNothingToMend(t *testing.T) {
	t.Parallel()
	if got := found(t, broken(t, &txtar.Archive{})); got != "" {
		t.Error(got)
	}
}
