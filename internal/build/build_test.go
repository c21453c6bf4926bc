// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/tree"
)

// rendered are objects by what they call themselves, as JSON.
func rendered(t *testing.T, r *build.Result) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range r.Objects {
		if o.Stub {
			continue
		}
		fields, problem := o.Fields()
		if problem != nil {
			t.Fatalf("%s: %s", problem.Place, problem.What)
		}
		content, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		all[o.GroupVersion().String()+" "+o.String()] = string(content)
	}
	return all
}

func byKustomize(t *testing.T, dir string) (map[string]string, error) {
	t.Helper()
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, r := range resources.Resources() {
		fields, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		content, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		id := build.IDOf(fields)
		all[id.GroupVersion().String()+" "+id.String()] = string(content)
	}
	return all, nil
}

// unpacked is an archive on disk.
func unpacked(t testing.TB, archive *txtar.Archive) string {
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

func kustomizations(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	if err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "kustomization.yaml" {
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			if !strings.Contains(string(content), "kind: Component") {
				all = append(all, filepath.Dir(p))
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever kustomize renders is rendered alike, and what it refuses is a problem.
func TestItIsWhatKustomizeRenders(t *testing.T) {
	t.Parallel()
	roots := map[string]string{"examples": "../../examples"}
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	for _, a := range archives {
		archive, err := txtar.ParseFile(a)
		if err != nil {
			t.Fatal(err)
		}
		roots[strings.TrimSuffix(filepath.Base(a), ".txtar")] = unpacked(t, archive)
	}
	for name, root := range roots {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := build.New(tree.New(root))
			for _, dir := range kustomizations(t, root) {
				rel, err := filepath.Rel(root, dir)
				if err != nil {
					t.Fatal(err)
				}
				want, refused := byKustomize(t, dir)
				got := b.Build(filepath.ToSlash(rel))
				problems := slices.DeleteFunc(slices.Clone(got.Problems), func(p build.Problem) bool { return p.Rule == "patch-idle" })
				if refused != nil {
					if len(problems) == 0 && !unfit(got) {
						t.Errorf("%s: kustomize refuses it (%v), and nothing is told", rel, refused)
					}
					continue
				}
				for _, p := range problems {
					t.Errorf("%s: %s: %s, and kustomize renders it", rel, p.Place, p.What)
				}
				if diff := cmp.Diff(want, rendered(t, got)); diff != "" {
					t.Errorf("%s: kustomize, and here:\n%s", rel, diff)
				}
			}
		})
	}
}

// unfit tells whether any patch doesn't fit its object.
func unfit(r *build.Result) bool {
	return slices.ContainsFunc(r.Objects, func(o *build.Object) bool {
		_, problem := o.Fields()
		return problem != nil
	})
}

func TestWhereThingsAreWritten(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/overlays.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := unpacked(t, archive)
	b := build.New(tree.New(root))
	places := map[string]string{}
	for _, o := range b.Build("overlay").Objects {
		for field, path := range map[string][]any{"": nil, "interval": {"spec", "interval"}, "path": {"spec", "path"}, "absent": {"spec", "absent"}, "list": {"spec", "dependsOn", 0, "name"}, "replicas": {"spec", "replicas"}} {
			rel, err := filepath.Rel(root, o.Place(path...).String())
			if err != nil {
				t.Fatal(err)
			}
			places[strings.TrimSpace(o.Kind+" "+field)] = rel
		}
	}
	want := map[string]string{
		"Kustomization": "base/sync.yaml:2:1", "Kustomization interval": "base/sync.yaml:8:3", "Kustomization path": "overlay/sync-patch.yaml:6:3",
		"Kustomization absent": "base/sync.yaml:7:1", "Kustomization list": "overlay/sync-patch.yaml:8:7",
		"Deployment": "base/web.yaml:1:1", "Deployment replicas": "overlay/kustomization.yaml:13:16",
	}
	for k := range maps.Clone(places) {
		if want[k] == "" {
			delete(places, k)
		}
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Error(diff)
	}
}

// What is wrong is told once, at its place, and never hangs or leaves the tree.
func TestProblems(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a loop":                  {map[string]string{"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"}, []string{"kustomize-loop a/kustomization.yaml:1"}},
		"a loop that labels":      {map[string]string{"a/kustomization.yaml": "namePrefix: x\nresources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"}, []string{"kustomize-loop a/kustomization.yaml:1"}},
		"itself":                  {map[string]string{"a/kustomization.yaml": "resources: [.]\n"}, []string{"kustomize-loop a/kustomization.yaml:1"}},
		"elsewhere":               {map[string]string{"a/kustomization.yaml": "resources:\n- https://github.com/x/y?ref=z\n"}, []string{"remote-base a/kustomization.yaml:2:3"}},
		"elsewhere, with labels":  {map[string]string{"a/kustomization.yaml": "namePrefix: x\nresources:\n- github.com/x/y\n"}, []string{"remote-base a/kustomization.yaml:3:3"}},
		"out of the tree":         {map[string]string{"a/kustomization.yaml": "resources: [../../etc]\n"}, []string{"path-outside a/kustomization.yaml:1:13"}},
		"missing":                 {map[string]string{"a/kustomization.yaml": "resources: [b.yml]\n", "a/b.yaml": "{}\n"}, []string{"path-missing a/kustomization.yaml:1:13"}},
		"a patch that is missing": {map[string]string{"a/kustomization.yaml": "patches: [{path: p.yaml}]\n"}, []string{"path-missing a/kustomization.yaml:1:11"}},
		"a patch of nothing":      {map[string]string{"a/kustomization.yaml": "patches: [{path: p.yaml}]\n", "a/p.yaml": "apiVersion: a/v1\nkind: B\nmetadata: {name: c}\n"}, []string{"patch-target a/p.yaml:1:1"}},
		"a target of nothing":     {map[string]string{"a/kustomization.yaml": "patches: [{path: p.yaml, target: {kind: X}}]\n", "a/p.yaml": "- {op: remove, path: /a}\n"}, []string{"patch-idle a/p.yaml:1:1"}},
		"twice":                   {map[string]string{"a/kustomization.yaml": "resources: [b.yaml, c.yaml]\n", "a/b.yaml": "{apiVersion: v1, kind: B, metadata: {name: c}}\n", "a/c.yaml": "{apiVersion: v1, kind: B, metadata: {name: c}}\n"}, []string{"object-twice a/c.yaml:1:1"}},
		"a field nobody knows":    {map[string]string{"a/kustomization.yaml": "kind: Kustomization\nresource: [b.yaml]\n"}, []string{"kustomize a/kustomization.yaml:2"}},
		"no object":               {map[string]string{"a/kustomization.yaml": "resources: [b.yaml]\n", "a/b.yaml": "a: b\n"}, []string{"not-an-object a/b.yaml:1:1"}},
		"no YAML":                 {map[string]string{"a/kustomization.yaml": "resources: [b.yaml]\n", "a/b.yaml": "a: [\n"}, []string{"yaml-syntax a/b.yaml:1"}},
		"no kustomization":        {map[string]string{"a/b.yaml": "{apiVersion: v1, kind: B, metadata: {name: c}}\n", "a/c/kustomization.yaml": "resources: [d.yaml]\n"}, []string{"path-missing a/c/kustomization.yaml:1:13"}},
		"a list that is none":     {map[string]string{"a/kustomization.yaml": "resources: b.yaml\n"}, []string{"kustomize a/kustomization.yaml:1"}},
		"an empty one":            {map[string]string{"a/kustomization.yaml": ""}, []string{"kustomize a/kustomization.yaml:1"}},
		"two at once":             {map[string]string{"a/kustomization.yaml": "resources: [b.yaml, c.yaml]\n"}, []string{"path-missing a/kustomization.yaml:1:13", "path-missing a/kustomization.yaml:1:21"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := &txtar.Archive{}
			for n, content := range tc.files {
				archive.Files = append(archive.Files, txtar.File{Name: n, Data: []byte(content)})
			}
			root := unpacked(t, archive)
			var got []string
			for _, p := range build.New(tree.New(root)).Build("a").Problems {
				rel, err := filepath.Rel(root, p.String())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, p.Rule+" "+rel)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinksOutOfTheTreeAreNotFollowed(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "b.yaml"), []byte("{apiVersion: v1, kind: B, metadata: {name: c}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "kustomization.yaml"), []byte("resources: [b.yaml]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "b.yaml"), filepath.Join(root, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	r := build.New(tree.New(root)).Build(".")
	if len(r.Objects) != 0 || len(r.Problems) != 1 || r.Problems[0].Rule != "link-outside" {
		t.Errorf("%+v", r)
	}
}
