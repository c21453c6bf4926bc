// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/tree"
)

// built is what a directory renders.
func built(t *testing.T, dir, sub string) string {
	t.Helper()
	out := &strings.Builder{}
	for _, o := range build.New(tree.New(dir)).Build(sub).Objects {
		fields, problem := o.Fields()
		if problem != nil {
			t.Fatal(problem.What)
		}
		content, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(content, '\n'))
	}
	return out.String()
}

// What is mended by itself changes nothing of what is deployed, and nothing that it is not
// about.
func TestFixesKeepWhatIsBuilt(t *testing.T) {
	t.Parallel()
	dir := unpack(t, txtar.Parse([]byte(`-- a/kustomization.yaml --
# tenantry:allow kustomize: it was broken once
bases: [../base]   # all
patchesJson6902: # last
  - target: {group: apps, version: v1, kind: Deployment, name: web}
    path: json.yaml
patches:
  - path: five.yaml
patchesStrategicMerge:
  - seven.yaml # first
-- a/json.yaml --
- {op: replace, path: /spec/replicas, value: 8}
-- a/five.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: a}
spec: {replicas: 5, paused: true}
-- a/seven.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: a}
spec: {replicas: 7, paused: false}
-- base/kustomization.yaml --
resources: [web.yaml]
-- base/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: a
  annotations:
    url: "https://a.example/#part" # tenantry:allow metadata: it was long once
    script: |
      echo one
      # tenantry:allow metadata: this is a line of the script
      echo two
    text: "not a comment # tenantry:allow metadata: in quotes"
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}
`)))
	before := built(t, dir, "a")
	if !strings.Contains(before, `"paused":true,"replicas":8`) {
		t.Fatal(before)
	}
	r := run(t, dir)
	fixed, trees, err := r.Fix()
	if err != nil || len(trees) != 1 {
		t.Fatal(fixed, trees, err)
	}
	changes, err := trees[0].Changes()
	if err != nil {
		t.Fatal(err)
	}
	if err := trees[0].Save(changes); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, built(t, dir, "a")); diff != "" {
		t.Error(diff)
	}
	if got := told(run(t, dir), dir); got != "" {
		t.Errorf("left:\n%s", got)
	}
	content, err := os.ReadFile(filepath.Join(dir, "base/web.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`url: "https://a.example/#part"` + "\n", "# tenantry:allow metadata: this is a line of the script", "# tenantry:allow metadata: in quotes"} {
		if !strings.Contains(string(content), kept) {
			t.Errorf("%q is gone:\n%s", kept, content)
		}
	}
}
