// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenantry/tenantry/internal/lint"
	"github.com/tenantry/tenantry/internal/render"
)

// FuzzRun checks fleets with anything in their files: a run ends, and what it finds has a
// rule and a file.
func FuzzRun(f *testing.F) {
	const tenant = "apiVersion: tenantry.dev/v1alpha1\nkind: Tenant\nmetadata: {name: oil}\nspec: {syncs: [{name: apps, source: {git: {url: 'https://a.example/b'}}}], exceptions: [{rule: services/type, reason: x, until: '2020-01-01T00:00:00Z'}]}\n"
	const sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: flux-system}\nspec: {interval: 1m, prune: true, path: ./x, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substitute: {a: b}}, targetNamespace: oil}\n"
	f.Add("resources: [../../x]\n", sync, tenant, "creation_rules: [{path_regex: '.*', encrypted_regex: '^data$'}]\n")
	f.Add("resources: [m.yaml]\npatches: [{path: m.yaml}, {target: {kind: .*}, patch: '[{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]'}]\n", tenant, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: oil}\nstringData: {a: b}\nsops: {age: [{recipient: x}]}\n# tenantry:allow x: y\n", "a: b\n")
	f.Add("namespace: a\nresources: [m.yaml]\n", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: oil}\nspec: {interval: 1m, chart: {spec: {chart: ./x, sourceRef: {kind: GitRepository, name: apps}}}}\n", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\nspec: {group: b, names: {kind: A, plural: a}, scope: Cluster, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n", "")
	f.Fuzz(func(t *testing.T, kustomization, inCluster, inTenant, sops string) {
		dir := t.TempDir()
		for name, content := range map[string]string{
			"fleet/clusters/a/kustomization.yaml": kustomization, "fleet/clusters/a/m.yaml": inCluster,
			"fleet/x/t.yaml": inTenant, "fleet/.sops.yaml": sops, "oil/m.yaml": inCluster, "oil/kustomization.yaml": kustomization,
		} {
			full := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := lint.Run(filepath.Join(dir, "fleet"), render.Options{At: map[string]string{"https://a.example/b": filepath.Join(dir, "oil")}, Now: time.Unix(1_800_000_000, 0)})
		if err != nil {
			return // said in one line
		}
		for _, found := range r.Findings {
			if found.Rule == "" || found.File == "" || found.Severity == "" || found.What == "" {
				t.Errorf("%+v", found)
			}
		}
		if _, _, err := r.Fix(); err != nil {
			return // what can't be printed is refused
		}
	})
}
