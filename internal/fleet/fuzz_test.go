// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tenantry/tenantry/internal/fleet"
)

// FuzzLoad reads fleets: their own file and any other.
func FuzzLoad(f *testing.F) {
	f.Add("apiVersion: tenantry.dev/v1alpha1\nkind: Fleet\nlocal: {cluster: a, repositories: [{url: 'https://a.example/b', dir: .}]}\n", "a: b\n")
	f.Add("a: &a [*a, *a]\n", "---\n---\n: :\n")
	f.Fuzz(func(t *testing.T, config, manifest string) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "clusters", "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{fleet.FileName: config, "clusters/a/m.yaml": manifest} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := fleet.Load(dir)
		if err != nil {
			return
		}
		_ = got.ParseAll() // any error will do
		if len(got.Clusters) != 1 {
			t.Errorf("%v", got.Clusters)
		}
	})
}
