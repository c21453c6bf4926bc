// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/tree"
)

// What a Flux Kustomization puts over a directory is what kustomize makes of it in the
// directory's own kustomization.
func TestWhatIsPutOverADirectory(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/overlays.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		dir  string
		over map[string]any
	}{
		"a namespace, for plain objects": {"plain", map[string]any{"namespace": "there"}},
		"a namespace, for others":        {"base", map[string]any{"namespace": "there"}},
		"a prefix in place of another":   {"placed", map[string]any{"namePrefix": "x-", "nameSuffix": "-y"}},
		"a patch by the written name":    {"placed", map[string]any{"patches": []any{map[string]any{"target": map[string]any{"kind": "ConfigMap", "name": "about"}, "patch": "- {op: add, path: /data/z, value: z}"}}}},
		"images":                         {"base", map[string]any{"images": []any{map[string]any{"name": "web", "newTag": "9"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := unpacked(t, archive)
			if err := os.Mkdir(filepath.Join(dir, "plain"), 0o700); err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{
				"kustomization.yaml": "resources: [a.yaml]\n",
				"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: a, namespace: b}, spec: {ports: [{port: 1}]}}\n" +
					"---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, labels: {a: b}}, spec: {serviceName: a, volumeClaimTemplates: [{metadata: {name: a}}]}}\n" +
					"---\n{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}}\n" +
					"---\n{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a}, spec: {interval: 1m, targetNamespace: c, storageNamespace: d}}\n" +
					"---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {scaleTargetRef: {kind: StatefulSet, name: a}}}\n" +
					"---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}\n---\n{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: x}}\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, "plain", file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := build.New(tree.New(dir)).With(tc.dir, tc.over)
			for _, p := range r.Problems {
				t.Error(p.What)
			}
			file := filepath.Join(dir, tc.dir, "kustomization.yaml")
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			k := map[string]any{}
			if err := yaml.Unmarshal(content, &k); err != nil {
				t.Fatal(err)
			}
			for name, v := range tc.over {
				k[name] = v
			}
			if content, err = yaml.Marshal(k); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			want, err := byKustomize(t, filepath.Join(dir, tc.dir))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, rendered(t, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
