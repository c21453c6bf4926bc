// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Whatever is in a repository, a run ends, with a finding that says what it was.
func TestHostileInput(t *testing.T) {
	t.Parallel()
	manifest := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: a}\n"
	}
	for name, tc := range map[string]struct {
		make func(t *testing.T, put func(name, content string), dir string)
		want []string // rules, in the order of files
	}{
		"a file of fifty megabytes": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "resources: [big.yaml]\n")
			put("a/big.yaml", manifest("big")+"data:\n  a: "+strings.Repeat("x", 50<<20)+"\n")
		}, []string{"file-unreadable"}},
		"aliases that multiply": {func(_ *testing.T, put func(string, string), _ string) {
			bomb := &strings.Builder{}
			bomb.WriteString(manifest("bomb") + "data:\n  l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n")
			for i := 1; i < 12; i++ {
				fmt.Fprintf(bomb, "  l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
			}
			put("a/kustomization.yaml", "resources: [bomb.yaml]\n")
			put("a/bomb.yaml", bomb.String())
		}, []string{"yaml-syntax"}},
		"aliases that multiply in a kustomization": {func(_ *testing.T, put func(string, string), _ string) {
			bomb := &strings.Builder{}
			bomb.WriteString("namePrefix: x\nresources: []\nl0: &l0 [x, x, x, x, x, x, x, x, x, x]\n")
			for i := 1; i < 12; i++ {
				fmt.Fprintf(bomb, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
			}
			put("a/kustomization.yaml", bomb.String())
		}, []string{"kustomize"}},
		"an alias of itself": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "resources: [a.yaml]\n")
			put("a/a.yaml", manifest("a")+"data: &a {b: *a}\n")
		}, []string{"yaml-syntax"}},
		"lists in lists": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "resources: [deep.yaml]\n")
			put("a/deep.yaml", manifest("deep")+"data: {a: "+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+"}\n")
		}, []string{"yaml-syntax"}},
		"kustomizations in a circle": {func(_ *testing.T, put func(string, string), _ string) {
			for i := range 50 {
				put(fmt.Sprintf("k%d/kustomization.yaml", i), fmt.Sprintf("resources: [../k%d]\n", (i+1)%50))
			}
		}, []string{"kustomize-loop"}},
		"kustomizations that double": {func(_ *testing.T, put func(string, string), _ string) {
			for i := range 40 {
				put(fmt.Sprintf("k%02d/kustomization.yaml", i), fmt.Sprintf("resources: [../k%02d, ../k%02d]\n", i+1, i+1))
			}
			put("k40/kustomization.yaml", "resources: [a.yaml]\n")
			put("k40/a.yaml", manifest("a"))
		}, []string{"object-twice"}},
		"kustomizations that double, with a prefix": {func(_ *testing.T, put func(string, string), _ string) {
			for i := range 40 {
				put(fmt.Sprintf("k%02d/kustomization.yaml", i), fmt.Sprintf("namePrefix: x\nresources: [../k%02d, ../k%02d]\n", i+1, i+1))
			}
			put("k40/kustomization.yaml", "resources: [a.yaml]\n")
			put("k40/a.yaml", manifest("a"))
		}, []string{"kustomize"}},
		"a link to the passwords": {func(t *testing.T, put func(string, string), dir string) {
			put("a/kustomization.yaml", "resources: [passwd.yaml]\n")
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "a/passwd.yaml")); err != nil {
				t.Fatal(err)
			}
		}, []string{"link-outside"}},
		"a link to all there is": {func(t *testing.T, put func(string, string), dir string) {
			put("a/kustomization.yaml", "resources: [root/etc]\n")
			if err := os.Symlink("/", filepath.Join(dir, "a/root")); err != nil {
				t.Fatal(err)
			}
		}, []string{"link-outside"}},
		"a link to itself": {func(t *testing.T, put func(string, string), dir string) {
			put("a/kustomization.yaml", "resources: [self]\n")
			if err := os.Symlink(".", filepath.Join(dir, "a/self")); err != nil {
				t.Fatal(err)
			}
		}, []string{"kustomize-loop"}},
		"two links to itself": {func(t *testing.T, put func(string, string), dir string) {
			put("a/kustomization.yaml", "resources: [one, two]\n")
			for _, name := range []string{"one", "two"} {
				if err := os.Symlink(".", filepath.Join(dir, "a", name)); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"kustomize-loop"}},
		"a patch from outside": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: ../../../../../etc/hostname, target: {kind: ConfigMap}}]\n")
			put("a/a.yaml", manifest("a"))
		}, []string{"path-outside"}},
		"what Git keeps for itself": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "configMapGenerator: [{name: a, files: [../.git/config]}]\n")
			put(".git/config", "token")
		}, []string{"kustomize"}},
		"a copy that doubles": {func(_ *testing.T, put func(string, string), _ string) {
			patch := &strings.Builder{}
			for i := range 40 {
				fmt.Fprintf(patch, "- {op: copy, from: /data, path: /data/x%d}\n", i)
			}
			put("a/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]\n")
			put("a/a.yaml", manifest("a")+"data: {a: b}\n")
			put("a/p.yaml", patch.String())
		}, []string{"patch-unfit"}},
		"a hundred thousand keys": {func(_ *testing.T, put func(string, string), _ string) {
			keys := &strings.Builder{}
			for i := range 100_000 {
				fmt.Fprintf(keys, "  k%d: v\n", i)
			}
			put("a/kustomization.yaml", "resources: [a.yaml]\n")
			put("a/a.yaml", manifest("a")+"data:\n"+keys.String())
		}, []string{"yaml-syntax"}},
		"a pipe that never ends": {func(t *testing.T, put func(string, string), dir string) {
			put("a/kustomization.yaml", "resources: [pipe.yaml]\n")
			if err := syscall.Mkfifo(filepath.Join(dir, "a/pipe.yaml"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"file-unreadable"}},
		"a hundred thousand documents": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "resources: [many.yaml]\n")
			put("a/many.yaml", strings.Repeat("---\n{}\n", 100_000))
		}, []string{"not-an-object"}},
		"bytes": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "resources: [bytes.yaml]\n")
			put("a/bytes.yaml", "\x00\x01\xff\xfe")
		}, []string{"yaml-syntax"}},
		"a name of a megabyte": {func(_ *testing.T, put func(string, string), _ string) {
			put("a/kustomization.yaml", "resources: [long.yaml]\n")
			put("a/long.yaml", "apiVersion: v1\nkind: "+strings.Repeat("x", 1<<20)+"\nmetadata: {name: a}\n")
		}, []string{"unknown-kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpack(t, &txtar.Archive{})
			tc.make(t, func(name, content string) {
				full := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}, dir)
			var got []string
			for _, f := range run(t, dir).Findings {
				got = append(got, f.Rule)
			}
			got = slices.Compact(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
