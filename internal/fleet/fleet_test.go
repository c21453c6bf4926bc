// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/tenantry/tenantry/internal/tree"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantry/tenantry/internal/fleet"
)

func TestTheExampleFleet(t *testing.T) {
	t.Parallel()
	f, err := fleet.Load("../../examples/fleet")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"production", "staging"}, f.ClusterNames()); diff != "" {
		t.Error(diff)
	}
	if c, err := f.Cluster(""); c != "staging" || err != nil {
		t.Errorf("the cluster is %q, %v", c, err)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: tenantry.dev/v1alpha1\nkind: Fleet\nlocal:\n"
	for name, tc := range map[string]struct {
		files map[string]string
		file  string
		line  int
	}{
		"a mapping out of line":        {map[string]string{"tenants/x.yaml": "a: 1\n b: 2\n"}, "tenants/x.yaml", 2},
		"a tab":                        {map[string]string{"tenants/x.yml": "a:\n\tb: 2\n"}, "tenants/x.yml", 2},
		"in a second document":         {map[string]string{"x.yaml": "a: 1\n---\nb: [\n"}, "x.yaml", 3},
		"another kind":                 {map[string]string{"tenantry.yaml": "kind: Fleat\n"}, "tenantry.yaml", 1},
		"an unknown field":             {map[string]string{"tenantry.yaml": head + "  custer: a\n"}, "tenantry.yaml", 4},
		"a cluster that isn't there":   {map[string]string{"tenantry.yaml": head + "  cluster: moon\n"}, "tenantry.yaml", 4},
		"a directory that isn't there": {map[string]string{"tenantry.yaml": head + "  repositories:\n    - url: https://x.example.com/y\n      dir: nowhere\n"}, "tenantry.yaml", 6},
		"no clusters":                  {map[string]string{"clusters": ""}, ".", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for path, content := range tc.files {
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, isFile := tc.files["clusters"]; !isFile {
				if err := os.MkdirAll(filepath.Join(dir, "clusters", "a"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			f, err := fleet.Load(dir)
			if err == nil {
				err = f.ParseAll()
			}
			var mistake *tree.Error
			if !errors.As(err, &mistake) {
				t.Fatalf("error is %v", err)
			}
			if mistake.File != filepath.Join(dir, tc.file) || mistake.Line != tc.line {
				t.Errorf("%v, want %s:%d", err, tc.file, tc.line)
			}
		})
	}
}

func TestChoosingACluster(t *testing.T) {
	t.Parallel()
	several := &fleet.Fleet{Clusters: []fleet.Cluster{{Name: "a"}, {Name: "b"}}}
	one := &fleet.Fleet{Clusters: []fleet.Cluster{{Name: "a"}}}
	for name, tc := range map[string]struct {
		fleet *fleet.Fleet
		ask   string
		want  string
	}{
		"the one named":   {several, "b", "b"},
		"the only one":    {one, "", "a"},
		"none of several": {several, "", ""},
		"one that isn't":  {several, "c", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.fleet.Cluster(tc.ask)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
