// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/testkit"
)

// commit is something in a tenant's repository that Flux is to apply.
type commit struct {
	files map[string]string
	// refused says by what: a wall, or words of Flux. Empty passes.
	wall, says string
}

// TestAttacksThroughFlux commits every attack that a repository can make to a tenant's
// own, each with its harmless twin, and reads what Flux says of them.
func TestAttacksThroughFlux(t *testing.T) {
	dir := examples(t)
	tenant, err := os.ReadFile("testdata/oil.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "fleet/tenants/base/oil/tenant.yaml"), string(tenant))
	c := up(t, "attacks", dir)
	commits := contents()
	for id, made := range fromSuite(t, c) {
		commits[id] = made
	}
	push(t, filepath.Join(dir, "tenants/oil"), commits)

	testkit.Eventually(t, 5*time.Minute, "Flux has answered all", func() error {
		_, open, err := answers(t, c, len(commits))
		if err == nil && len(open) > 0 {
			err = fmt.Errorf("%d are open, as %s", len(open), open[0])
		}
		return err
	})
	got, _, err := answers(t, c, len(commits))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for id, made := range commits {
		answer := got["attack-"+id]
		switch {
		case made.wall == "" && made.says == "":
			if answer.Status != metav1.ConditionTrue {
				t.Errorf("%s is harmless, and refused: %s", id, answer.Message)
			}
		case answer.Status == metav1.ConditionTrue:
			t.Errorf("%s got through", id)
		case made.wall != "" && attack.WallOf(answer.Message) != made.wall:
			t.Errorf("%s is refused by %q, not by %s: %s", id, attack.WallOf(answer.Message), made.wall, answer.Message)
		case !strings.Contains(answer.Message, made.says):
			t.Errorf("%s is refused without %q: %s", id, made.says, answer.Message)
		default:
			refused++
		}
	}
	t.Logf("%d of %d commits refused, the others harmless", refused, len(commits))
	for _, ns := range []string{"default", "gas", "flux-system"} {
		err := c.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "oil-tenantry-audit"}, &corev1.ConfigMap{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s/oil-tenantry-audit: %v", ns, err)
		}
	}
}

// fromSuite are the attacks and twins of the isolation suite.
func fromSuite(t *testing.T, c *cluster) map[string]commit {
	t.Helper()
	suite, err := attack.Load()
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := attack.ReadKinds(c.config)
	if err != nil {
		t.Fatal(err)
	}
	cast, err := attack.ReadCast(t.Context(), c.client)
	if err != nil {
		t.Fatal(err)
	}
	scene, err := cast.Scene("oil")
	if err != nil {
		t.Fatal(err)
	}
	all, err := suite.Commits(scene, kinds)
	if err != nil {
		t.Fatal(err)
	}
	// What this API server leaves out of objects, as fields behind a feature gate, is no
	// attack on it.
	runner, err := attack.NewRunner(c.config, attack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	results, err := runner.Run(t.Context(), suite, kinds, scene)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for _, r := range results {
		held[r.ID] = r.Outcome == attack.Held
	}
	commits, twins := map[string]commit{}, map[string]bool{}
	for _, a := range all {
		if !held[a.ID] {
			continue
		}
		commits[a.ID] = commit{files: map[string]string{"attack.yaml": string(a.Manifest)}, wall: a.Wall}
		if a.Twin != nil && !twins[string(a.Twin)] {
			twins[string(a.Twin)] = true
			commits[a.ID+"-harmless"] = commit{files: map[string]string{"twin.yaml": string(a.Twin)}}
		}
	}
	if len(commits) < 150 {
		t.Errorf("%d commits, want at least 150", len(commits))
	}
	return commits
}

// contents are attacks that only the content of a repository makes, on Flux itself.
func contents() map[string]commit {
	const (
		header = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
		plain  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: content, namespace: oil}\n"
		// What kustomize calls what lies outside the repository.
		outside = "is not in or below"
	)
	kustomize := func(body string, more ...string) map[string]string {
		files := map[string]string{"kustomization.yaml": header + body, "plain.yaml": plain}
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	return map[string]commit{
		"content-harmless":      {files: kustomize("resources: [plain.yaml]\n")},
		"content-file-harmless": {files: kustomize("configMapGenerator: [{name: file, namespace: oil, files: [note.txt]}]\n", "note.txt", "x")},
		// CVE-2022-24877
		"content-host-file":   {files: kustomize("configMapGenerator: [{name: file, namespace: oil, files: [/etc/passwd]}]\n"), says: outside},
		"content-climbs":      {files: kustomize("resources: [../../../../../../etc]\n"), says: outside},
		"content-climbs-file": {files: kustomize("configMapGenerator: [{name: file, namespace: oil, files: [../../../../../../etc/hostname]}]\n"), says: outside},
		// CVE-2022-24878
		"content-loop": {files: kustomize("resources: [../content-loop]\n"), says: "cycle detected"},
		"content-remote-base": {
			files: kustomize("resources: ['https://git.example.com/gas/apps//base?ref=main']\n"), says: "resources",
		},
		"content-helm":     {files: kustomize("helmCharts: [{name: app, repo: 'https://charts.elsewhere.example'}]\n"), says: "--enable-helm"},
		"content-function": {files: kustomize("generators: [exec.yaml]\n", "exec.yaml", "apiVersion: example.com/v1\nkind: Exec\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/true}\n"), says: "plugins disabled"},
	}
}

// push writes commits into a tenant's repository, with a Kustomization for each.
func push(t *testing.T, repository string, commits map[string]commit) {
	t.Helper()
	var syncs strings.Builder
	for id, made := range commits {
		at := filepath.Join(repository, "attacks", id)
		for name, content := range made.files {
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(at, name), content)
		}
		fmt.Fprintf(&syncs, `---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: "attack-%s", namespace: oil, labels: {attack: "true"}}
spec:
  interval: 24h
  retryInterval: 24h
  timeout: 1m
  prune: false
  serviceAccountName: oil
  path: ./attacks/%s
  sourceRef: {kind: GitRepository, name: apps}
`, id, id)
	}
	write(t, filepath.Join(repository, "base/attacks.yaml"), syncs.String())
	replace(t, filepath.Join(repository, "base/kustomization.yaml"), "resources:\n", "resources:\n  - attacks.yaml\n")
}

// answers are the Ready conditions of the attacks, and those that have none yet.
func answers(t *testing.T, c *cluster, want int) (got map[string]metav1.Condition, open []string, err error) {
	t.Helper()
	all := &kustomizev1.KustomizationList{}
	if err := c.client.List(t.Context(), all, client.InNamespace("oil"), client.MatchingLabels{"attack": "true"}); err != nil {
		return nil, nil, err
	}
	if len(all.Items) != want {
		return nil, nil, fmt.Errorf("%d Kustomizations, want %d", len(all.Items), want)
	}
	got = map[string]metav1.Condition{}
	for _, k := range all.Items {
		ready := meta.FindStatusCondition(k.Status.Conditions, "Ready")
		if ready == nil || ready.Status == metav1.ConditionUnknown {
			open = append(open, k.Name)
			continue
		}
		got[k.Name] = *ready
	}
	return got, open, nil
}
