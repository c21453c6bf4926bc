// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/schema"
)

func TestWhatTheAPITakesPasses(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../compile/testdata/*.tenant.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../examples/tenant/everything.yaml") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tn := &v1alpha1.Tenant{}
		if err := yaml.UnmarshalStrict(content, tn); err != nil {
			t.Fatal(err)
		}
		if err := schema.Tenant(tn); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestWhatTheAPIRefusesIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tenant string
		says   string
	}{
		"a name that is too long":     {"metadata: {name: " + strings.Repeat("a", 41) + "}", "a tenant's name is also its home namespace"},
		"a name of the system":        {"metadata: {name: kube-oil}", "this name is the system's"},
		"the home declared":           {"metadata: {name: oil}\nspec: {namespaces: {declared: [oil]}}", "take it out of spec.namespaces.declared"},
		"a namespace of the system":   {"metadata: {name: oil}\nspec: {namespaces: {declared: [kube-system]}}", "spec.namespaces.declared: Invalid value"},
		"an unknown role":             {"metadata: {name: oil}\nspec: {owners: [{kind: User, name: x, role: god}]}", `spec.owners[0].role: Unsupported value: "god"`},
		"an account without its home": {"metadata: {name: oil}\nspec: {owners: [{kind: ServiceAccount, name: x}]}", "namespace is required for a ServiceAccount"},
		"an owner twice":              {"metadata: {name: oil}\nspec: {owners: [{kind: User, name: x}, {kind: User, name: x}]}", "spec.owners[1]: Duplicate value"},
		"credentials in a URL":        {"metadata: {name: oil}\nspec: {syncs: [{name: a, source: {git: {url: 'https://u:p@x.example.com/y'}}}]}", "credentials don't belong in a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tn := &v1alpha1.Tenant{}
			if err := yaml.UnmarshalStrict([]byte(tc.tenant), tn); err != nil {
				t.Fatal(err)
			}
			if err := schema.Tenant(tn); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

func BenchmarkTenant(b *testing.B) {
	tn := &v1alpha1.Tenant{}
	tn.Name = "oil"
	for b.Loop() {
		if err := schema.Tenant(tn); err != nil {
			b.Fatal(err)
		}
	}
}
