// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/migrate"
	"github.com/tenantry/tenantry/internal/testkit"
)

var importers = map[string]func([]migrate.Document) (migrate.Result, error){
	"flux": migrate.Flux, "capsule": migrate.Capsule, "tmc": migrate.TMC,
}

// TestGolden imports each testdata/<tool>/<case>.yaml and compares Tenants and notes.
func TestGolden(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/*/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(strings.TrimPrefix(input, "testdata/"), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := importers[filepath.Dir(name)](read(t, input))
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, name+".golden.yaml", render(t, r))
			refusals(t, r)
		})
	}
}

// read takes documents apart. A comment before one says where it is, as
// "# place: tmc/workspaces/oil.yaml" and "# environment: staging"; both hold until the
// next that says another.
func read(t testing.TB, path string) []migrate.Document {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := parse(filepath.Base(path), content)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func parse(file string, content []byte) ([]migrate.Document, error) {
	var docs []migrate.Document
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	d := migrate.Document{}
	folder := ""
	for n := 1; ; n++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(line, "# place: "); ok {
				folder = strings.TrimSpace(v)
			}
			if v, ok := strings.CutPrefix(line, "# environment:"); ok {
				d.Environment = strings.TrimSpace(v)
			}
		}
		d.Place = fmt.Sprintf("%s:%d", file, n)
		if folder != "" {
			d.Place = fmt.Sprintf("%s:%d", folder, n)
		}
		d.Object = nil
		if err := yaml.Unmarshal(text, &d.Object); err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
}

func render(t testing.TB, r migrate.Result) string {
	t.Helper()
	out := &strings.Builder{}
	write := func(v any) {
		text, err := yaml.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	for _, tn := range r.Tenants {
		out.WriteString("---\n")
		if tn.Environments != nil {
			out.WriteString("# in " + strings.Join(tn.Environments, ", ") + "\n")
		}
		write(tn.Tenant)
		if tn.Syncs != nil {
			out.WriteString("# syncs where they differ\n")
			write(tn.Syncs)
		}
	}
	out.WriteString("---\n# notes\n")
	write(r.Notes)
	return out.String()
}

// golden compares a set of lines.
func golden(t *testing.T, name string, lines map[string]bool) {
	t.Helper()
	var all []string
	for l := range lines {
		all = append(all, l+"\n")
	}
	slices.Sort(all)
	testkit.Golden(t, name, strings.Join(all, ""))
}
