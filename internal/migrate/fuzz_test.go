// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzImport reads whatever it is given with each importer: none panics, and none makes a
// Tenant that the API server would refuse.
func FuzzImport(f *testing.F) {
	inputs, err := filepath.Glob("testdata/*/*.in.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, input := range inputs {
		content, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		docs, err := parse("fuzz", content)
		if err != nil {
			return // no YAML, and nothing to import
		}
		for _, read := range importers {
			if r, err := read(docs); err == nil {
				refusals(t, r)
			}
		}
	})
}
