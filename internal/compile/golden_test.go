// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/testkit"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// facts of the cases whose outcome depends on what is there already.
var facts = map[string]compile.Facts{
	"self-service": {Namespaces: []compile.Namespace{
		{Name: "oil", Created: noon, Managed: true, Bound: true},
		{Name: "oil-web", Created: noon.Add(time.Minute), Bound: true},
		{Name: "oil-new", Created: noon.Add(2 * time.Minute)},
		{Name: "legacy", Created: noon},
		{Name: "oil-going", Created: noon, Bound: true, Terminating: true},
	}},
	"over-limit": {Namespaces: []compile.Namespace{
		{Name: "oil-a", Created: noon.Add(time.Minute)},
		{Name: "oil-b", Created: noon},
		{Name: "oil-c", Created: noon.Add(2 * time.Minute), Bound: true},
	}},
	"released": {Namespaces: []compile.Namespace{{Name: "apps", Created: noon, Managed: true, Bound: true}}},
	"lists": {
		Defaults: compile.Defaults{Storage: []string{"unused"}}, TakenDomains: []string{"taken.example.com"}, Now: noon,
	},
	"cordoned": {Namespaces: []compile.Namespace{{Name: "oil-web", Created: noon, Bound: true}}},
}

// TestGolden compiles each testdata/*.tenant.yaml and compares every byte.
func TestGolden(t *testing.T) {
	t.Parallel()
	inputs, err := filepath.Glob("testdata/*.tenant.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".tenant.yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tn := read(t, input)
			plan := compile.Tenant(tn, facts[name])
			out := &strings.Builder{}
			for _, ns := range plan.Namespaces {
				out.WriteString("# " + ns.Name + ": " + string(ns.Origin) + ", " + string(ns.State) + "\n")
			}
			for _, r := range plan.Released {
				out.WriteString("# " + r + ": released\n")
			}
			objects := plan.Objects()
			if p := compile.Provisioners(compile.Shard(tn.Name), []*v1alpha1.Tenant{tn}); p != nil {
				objects = append(objects, p)
			}
			for _, o := range objects {
				bytes, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				out.WriteString("---\n" + string(bytes))
			}
			testkit.Golden(t, name+".golden.yaml", out.String())
		})
	}
}

func read(t *testing.T, path string) *v1alpha1.Tenant {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tn := &v1alpha1.Tenant{}
	if err := yaml.UnmarshalStrict(content, tn); err != nil {
		t.Fatal(err)
	}
	return tn
}

func TestTheOrderOfFactsDoesNotMatter(t *testing.T) {
	t.Parallel()
	tn := read(t, "testdata/over-limit.tenant.yaml")
	forth := facts["over-limit"]
	back := compile.Facts{Namespaces: slices.Clone(forth.Namespaces)}
	slices.Reverse(back.Namespaces)
	if diff := cmp.Diff(compile.Tenant(tn, forth), compile.Tenant(tn, back)); diff != "" {
		t.Error(diff)
	}
}

func TestOwnersGetNothingOutsideTheTenantsNamespaces(t *testing.T) {
	t.Parallel()
	tn := read(t, "testdata/self-service.tenant.yaml")
	mine := []string{"oil", "oil-web", "oil-new", "legacy"}
	for _, o := range compile.Tenant(tn, facts["self-service"]).Objects() {
		at := o.GetNamespace()
		if o.GetKind() == "Namespace" {
			at = o.GetName()
		}
		if !slices.Contains(mine, at) {
			t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), at)
		}
	}
}

func TestNamespacesPastTheLimitGetNothing(t *testing.T) {
	t.Parallel()
	tn := read(t, "testdata/over-limit.tenant.yaml") // limit 2, one bound: room for the older of two
	plan := compile.Tenant(tn, facts["over-limit"])
	states := map[string]v1alpha1.NamespaceState{}
	for _, ns := range plan.Namespaces {
		states[ns.Name] = ns.State
		if ns.State == v1alpha1.NamespaceOverLimit && len(ns.Guards)+len(ns.Grants) > 0 {
			t.Errorf("%s is past the limit and gets objects", ns.Name)
		}
	}
	want := map[string]v1alpha1.NamespaceState{
		"oil": v1alpha1.NamespacePending, "oil-a": v1alpha1.NamespaceOverLimit,
		"oil-b": v1alpha1.NamespacePending, "oil-c": v1alpha1.NamespaceActive,
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
}

func FuzzTenantCompilesWhateverItSays(f *testing.F) {
	for _, input := range []string{"testdata/self-service.tenant.yaml", "testdata/sources.tenant.yaml"} {
		content, err := os.ReadFile(input)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		tn := &v1alpha1.Tenant{}
		if yaml.Unmarshal(content, tn) != nil {
			return // not a Tenant
		}
		a, b := compile.Tenant(tn, compile.Facts{}), compile.Tenant(tn, compile.Facts{})
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("compiles to two things: %s", diff)
		}
	})
}
