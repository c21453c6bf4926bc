// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/tenantry/tenantry/internal/lint"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/schema"
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

// BenchmarkOneByOne is what is done without us: kustomize builds each overlay, and each
// object of what it prints goes through a validator.
func BenchmarkOneByOne(b *testing.B) {
	for _, n := range []int{100, 1_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := largeFleet(b, n)
			for b.Loop() {
				kinds, err := schema.For(schema.Newest)
				if err != nil {
					b.Fatal(err)
				}
				for _, e := range environments {
					k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig()})
					out, err := k.Run(filesys.MakeFsOnDisk(), filepath.Join(dir, "tenants", e))
					if err != nil {
						b.Fatal(err)
					}
					text, err := out.AsYaml()
					if err != nil {
						b.Fatal(err)
					}
					for _, document := range strings.Split(string(text), "\n---\n") {
						if err := validate(kinds, document); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	}
}

func TestWriteLarge(t *testing.T) {
	dir := os.Getenv("LARGE")
	if dir == "" {
		t.Skip()
	}
	if err := os.CopyFS(dir, os.DirFS(largeFleet(t, 1000))); err != nil {
		t.Fatal(err)
	}
}
