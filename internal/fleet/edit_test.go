// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/tree"
)

func newFleet(t testing.TB) *Fleet {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "fleet")
	f, err := Init(dir, InitOptions{
		Clusters: []Member{{"staging", "staging"}, {"production", "production"}},
		URL:      PlaceholderURL, Branch: "main", Walls: []byte("a: 1\n"), Grants: []byte("a: 1\n"),
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	save(t, f)
	f, err = Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func save(t testing.TB, f *Fleet) {
	t.Helper()
	changes, err := f.Changes()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Save(changes); err != nil {
		t.Fatal(err)
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	if _, err := Open(f.Dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a second change at the same time: %v", err)
	}
	f.Close()
	again, err := Open(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(dir string) error
		says  string
	}{
		"a file that changed meanwhile": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "tenants/staging/kustomization.yaml"), []byte("resources: [x]\n"), 0o600)
		}, "kustomization.yaml changed in the meantime"},
		"a file that was made meanwhile": {func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "tenants/base/oil"), 0o700), os.WriteFile(filepath.Join(dir, "tenants/base/oil/tenant.yaml"), nil, 0o600))
		}, "tenant.yaml changed in the meantime"},
		"a file that is read-only": {func(dir string) error {
			return os.Chmod(filepath.Join(dir, "tenants/staging/kustomization.yaml"), 0o400)
		}, "kustomization.yaml is read-only"},
		"a directory that can't be made": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "tenants/base/oil"), nil, 0o600)
		}, "nothing was written"},
		"a rename that fails": {func(dir string) error {
			return os.MkdirAll(filepath.Join(dir, "tenants/staging/oil-patch.yaml/full"), 0o700)
		}, "nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			o := Onboarding{Tenant: tenantNamed("oil"), Overlays: []string{"tenants/production", "tenants/staging"}, Syncs: syncsFrom("https://git.example.com/oil/apps")}
			if err := f.CreateTenant(o); err != nil {
				t.Fatal(err)
			}
			changes, err := f.Changes()
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.spoil(f.Dir); err != nil {
				t.Fatal(err)
			}
			before := contents(t, f.Dir)
			if err := f.Save(changes); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%v, want %q", err, tc.says)
			}
			if diff := cmp.Diff(before, contents(t, f.Dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// contents are all files and directories with what they hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			all[path] = "directory"
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnEntryIsAddedInTheFormOfItsFile(t *testing.T) {
	t.Parallel()
	const before = "spec:\n\n    owners:\n        # people\n        - kind:  User\n          name:  \"olivia\"   # lead\n\n        - {kind: Group,  name: g}\n    quota: {pods:  \"5\"}\n# end\n"
	for name, tc := range map[string]struct {
		edit         Edit
		removed, add string
	}{
		"added":          {AddOwner(v1alpha1.Owner{Kind: "User", Name: "bob", Role: "view"}), "", "        - kind: User\n          name: bob\n          role: view\n"},
		"another role":   {AddOwner(v1alpha1.Owner{Kind: "User", Name: "olivia", Role: "edit"}), "", "          role: edit\n"},
		"removed":        {RemoveOwner(v1alpha1.Owner{Kind: "Group", Name: "g"}), "        - {kind: Group,  name: g}\n", ""},
		"a first of its": {AddNamespace("web"), "", "    namespaces:\n        declared:\n          - web\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tree.Edited("x.yaml", []byte(before), 0, func(n *yaml.Node) error {
				_, err := tc.edit.change(n, false)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if rest := strings.Replace(string(got), tc.add, "", 1); rest != strings.Replace(before, tc.removed, "", 1) || !strings.Contains(string(got), tc.add) {
				t.Errorf("it became\n%s", got)
			}
		})
	}
}
