// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/lint"
	"github.com/tenantry/tenantry/internal/render"
)

var environments = []string{"development", "staging", "production"}

// largeFleet is a fleet of so many tenants in three environments, on disk.
func largeFleet(tb testing.TB, tenants int) string {
	tb.Helper()
	dir := tb.TempDir()
	put := func(name, content string) {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	for _, name := range []string{"walls", "grants"} {
		content, err := os.ReadFile("../../examples/fleet/infrastructure/tenantry/" + name + "/" + name + ".yaml")
		if err != nil {
			tb.Fatal(err)
		}
		put("infrastructure/"+name+"/"+name+".yaml", string(content))
		put("infrastructure/"+name+"/kustomization.yaml", "resources:\n  - "+name+".yaml\n")
	}
	for _, e := range environments {
		content, err := os.ReadFile("../../examples/fleet/clusters/staging/flux-system/kustomization.yaml")
		if err != nil {
			tb.Fatal(err)
		}
		put("clusters/"+e+"/flux-system/kustomization.yaml", string(content))
		put("clusters/"+e+"/flux-system/gotk-sync.yaml", sync("flux-system", "./clusters/"+e, "", true))
		put("clusters/"+e+"/all.yaml", sync("walls", "./infrastructure/walls", "", false)+sync("grants", "./infrastructure/grants", "walls", false)+sync("tenants", "./tenants/"+e, "grants", false))
		resources, patches := "resources:\n", "patches:\n"
		for i := range tenants {
			resources += fmt.Sprintf("  - ../base/t%05d\n", i)
			patches += fmt.Sprintf("  - path: t%05d-patch.yaml\n", i)
			put(fmt.Sprintf("tenants/%s/t%05d-patch.yaml", e, i), fmt.Sprintf("apiVersion: tenantry.dev/v1alpha1\nkind: Tenant\nmetadata:\n  name: t%05d\nspec:\n  syncs:\n    - name: apps\n      source:\n        git:\n          url: https://git.example.com/t%05d/apps\n      path: ./%s\n", i, i, e))
		}
		put("tenants/"+e+"/kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"+resources+patches)
	}
	for i := range tenants {
		put(fmt.Sprintf("tenants/base/t%05d/kustomization.yaml", i), "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n  - tenant.yaml\n")
		put(fmt.Sprintf("tenants/base/t%05d/tenant.yaml", i), fmt.Sprintf("apiVersion: tenantry.dev/v1alpha1\nkind: Tenant\nmetadata:\n  name: t%05d\nspec:\n  owners:\n    - kind: Group\n      name: t%05d-team\n  namespaces:\n    declared:\n      - ns-t%05d\n  domains:\n    - t%05d.example.com\n", i, i, i, i))
	}
	return dir
}

// sync is a Kustomization of the fleet itself, with its source where it is asked for.
func sync(name, path, after string, source bool) string {
	out := ""
	if source {
		out = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {interval: 1m, url: 'https://git.example.com/platform/fleet', ref: {branch: main}}\n"
	}
	out += "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\nspec:\n  interval: 10m\n  prune: true\n  wait: true\n  path: " + path + "\n  sourceRef: {kind: GitRepository, name: flux-system}\n"
	if after != "" {
		out += "  dependsOn: [{name: " + after + "}]\n"
	}
	if name != "flux-system" {
		out += "  serviceAccountName: kustomize-controller\n"
	}
	return out
}

func run(tb testing.TB, dir string) *lint.Report {
	tb.Helper()
	r, err := lint.Run(dir, render.Options{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := largeFleet(b, n)
			b.ReportAllocs()
			var most uint64
			for b.Loop() {
				if r := run(b, dir); len(r.Findings) > 0 {
					b.Fatalf("%+v", r.Findings[0])
				}
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/tenant")
			b.ReportMetric(float64(most)/(1<<20), "MB-heap")
		})
	}
}

// BenchmarkExample is the example fleet, by the program itself: its start is part of it.
func BenchmarkExample(b *testing.B) {
	for b.Loop() {
		if out, err := exec.Command("../../bin/tenantry", "validate", "../../examples/fleet").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}

// BenchmarkProgram is a large fleet by the program itself, and BenchmarkOneByOne what is
// done without it: kustomize builds each overlay, and a validator is given what it prints.
// The validator is given the CRD, so that it checks the same fields and rules of it, but for
// one rule that it can't compile.
func BenchmarkProgram(b *testing.B) {
	dir := largeFleet(b, 1_000)
	var peak int64
	for b.Loop() {
		cmd := exec.Command("../../bin/tenantry", "validate", dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss)
		}
	}
	b.ReportMetric(float64(peak)/1024, "MB-peak")
}

func BenchmarkOneByOne(b *testing.B) {
	tools := os.Getenv("TENANTRY_TOOLS")
	if tools == "" {
		b.Skip("make bench-validate builds the tools")
	}
	dir, crds, out := largeFleet(b, 1_000), b.TempDir(), b.TempDir()
	content, err := os.ReadFile("../../config/crd/tenantry.dev_tenants.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(content, &crd); err != nil {
		b.Fatal(err)
	}
	withoutRule(crd)
	if content, err = yaml.Marshal(crd); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(crds, "tenants.yaml"), content, 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, e := range environments {
			rendered, err := exec.Command(filepath.Join(tools, "kustomize"), "build", "--load-restrictor", "LoadRestrictionsNone", filepath.Join(dir, "tenants", e)).Output()
			if err != nil {
				b.Fatal(err)
			}
			file := filepath.Join(out, e+".yaml")
			if err := os.WriteFile(file, rendered, 0o600); err != nil {
				b.Fatal(err)
			}
			said, err := exec.Command(filepath.Join(tools, "kubectl-validate"), "--local-crds", crds, file).CombinedOutput()
			if err != nil || !strings.Contains(string(said), "OK") {
				b.Fatalf("%v: %.2000s", err, said)
			}
		}
	}
}

// withoutRule takes out what reads a field called namespace: this was a reserved word of
// the rules when the validator was made.
func withoutRule(v any) {
	switch v := v.(type) {
	case map[string]any:
		if rules, ok := v["x-kubernetes-validations"].([]any); ok {
			v["x-kubernetes-validations"] = slices.DeleteFunc(rules, func(r any) bool {
				m, _ := r.(map[string]any)
				text, _ := m["rule"].(string)
				return strings.Contains(text, "self.namespace.")
			})
		}
		for _, sub := range v {
			withoutRule(sub)
		}
	case []any:
		for _, sub := range v {
			withoutRule(sub)
		}
	}
}
