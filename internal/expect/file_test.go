// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, content string) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, Dir, "some.yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

const head = "apiVersion: tenantry.dev/v1alpha1\nkind: Expectations\nexpect:\n"

func TestLoadReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	root := write(t, `# A comment.
apiVersion: tenantry.dev/v1alpha1
kind: Expectations
clusters: [staging]
expect:
  - name: there
    object: {apiVersion: v1, kind: Namespace, name: oil}
  - name: refused
    request:
      as: {tenant: oil, role: viewer}
      verb: delete
      object: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: oil}}
    outcome: refused
    by: rbac
---
apiVersion: tenantry.dev/v1alpha1
kind: Expectations
expect:
  - name: a commit
    commit: {tenant: oil, files: {a.yaml: "x: 1", gone.yaml: null}}
    outcome: ready
`)
	all, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 {
		t.Fatalf("%d expectations, want 3", len(all))
	}
	for i, want := range []struct {
		line     int
		outcome  string
		clusters int
	}{{6, Exists, 1}, {8, Refused, 1}, {19, Ready, 0}} {
		if e := all[i]; e.Line != want.line || e.Outcome != want.outcome || len(e.Clusters) != want.clusters || e.File != "tests/some.yaml" {
			t.Errorf("expectation %d is %s:%d %s for %v, want %+v", i, e.File, e.Line, e.Outcome, e.Clusters, want)
		}
	}
	if content := all[2].Commit.Files["gone.yaml"]; content != nil {
		t.Errorf("what is null is %q, want a removal", *content)
	}
}

func TestAFleetNeedNoExpectations(t *testing.T) {
	t.Parallel()
	if all, err := Load(t.TempDir()); err != nil || all != nil {
		t.Errorf("Load gives %v, %v", all, err)
	}
}

// Every mistake is told with its line, and nothing is asked.
func TestLoadTellsOfMistakes(t *testing.T) {
	t.Parallel()
	request := func(fields string) string {
		return head + "  - name: x\n    request:\n" + fields + "    outcome: allowed\n"
	}
	const pod = "      object: {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
	for name, tc := range map[string]struct{ content, want string }{
		"another kind":         {"apiVersion: v1\nkind: ConfigMap\n", `:1: kind "ConfigMap": tests/ is for files of`},
		"another version":      {"apiVersion: tenantry.dev/v1\nkind: Expectations\n", `:1: apiVersion "tenantry.dev/v1": want tenantry.dev/v1alpha1`},
		"an unknown field":     {head + "  - name: x\n    reqest: {}\n", ":5: field reqest not found"},
		"no YAML":              {head + "  - name: [x\n", "some.yaml:"},
		"no name":              {head + "  - outcome: ready\n", ":4: an expectation without a name"},
		"nothing is asked":     {head + "  - name: x\n    outcome: ready\n", "x: say one of request, object and commit"},
		"two are asked":        {head + "  - name: x\n    object: {kind: A}\n    commit: {tenant: oil}\n", "x: say one of request, object and commit"},
		"a mistyped outcome":   {head + "  - name: x\n    object: {apiVersion: v1, kind: Pod, name: a}\n    outcome: redy\n", `outcome "redy": want one of ready, exists, absent; is ready meant?`},
		"an outcome of others": {head + "  - name: x\n    object: {apiVersion: v1, kind: Pod, name: a}\n    outcome: refused\n", `outcome "refused": want one of ready, exists, absent`},
		"no outcome":           {head + "  - name: x\n    commit: {tenant: oil, files: {a: b}}\n", `outcome "": want one of ready, refused`},
		"by without a refusal": {head + "  - name: x\n    object: {apiVersion: v1, kind: Pod, name: a}\n    by: rbac\n", "by says which wall refuses, and the outcome is exists"},
		"fields of nothing":    {head + "  - name: x\n    object: {apiVersion: v1, kind: Pod, name: a}\n    outcome: absent\n    fields: {a: b}\n", "fields are of an object that is there"},
		"half an object":       {head + "  - name: x\n    object: {kind: Pod, name: a}\n", "object: want apiVersion, kind and name"},
		"an empty commit":      {head + "  - name: x\n    commit: {tenant: oil}\n    outcome: ready\n", "commit: want a tenant and files"},
		"nobody asks":          {request("      verb: get\n" + pod), "as: say one of tenant, user and serviceAccount"},
		"two ask":              {request("      as: {tenant: oil, user: o}\n      verb: get\n" + pod), "as: say one of tenant, user and serviceAccount"},
		"an unknown role":      {request("      as: {tenant: oil, role: boss}\n      verb: get\n" + pod), `as.role "boss": want one of account, editor, owner, viewer, workload`},
		"a role of nobody":     {request("      as: {user: o, role: owner}\n      verb: get\n" + pod), "as.role is of a tenant's people"},
		"half an account":      {request("      as: {serviceAccount: o}\n      verb: get\n" + pod), `as.serviceAccount "o": want namespace/name`},
		"no verb":              {request("      as: {user: o}\n" + pod), "request without a verb"},
		"no object":            {request("      as: {user: o}\n      verb: get\n"), "request.object: want apiVersion and kind"},
		"nothing to get":       {request("      as: {user: o}\n      verb: get\n      object: {apiVersion: v1, kind: Pod}\n"), "get wants metadata.name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(write(t, tc.content))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "some.yaml") {
				t.Errorf("Load says %v, want %q", err, tc.want)
			}
		})
	}
}

// A mistake, as an unknown field or a missing namespace, is no wall.
func TestJudgeTakesNoMistakeForAWall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		outcome, by, message string
		passed               bool
	}{
		"allowed as expected":       {Allowed, "", "", true},
		"allowed, not expected":     {Refused, "", "", false},
		"refused as expected":       {Refused, "", `pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "x"`, true},
		"refused, not expected":     {Allowed, "", `pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "x"`, false},
		"refused by another wall":   {Refused, "pod-security", `pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "x"`, false},
		"refused by the wall named": {Refused, "rbac", `pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace "x"`, true},
		"a mistake":                 {Refused, "", `namespaces "x" not found`, false},
		"an invalid object":         {Refused, "", `Pod "x" is invalid: spec.containers: Required value`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed, seen := judge(Expectation{Outcome: tc.outcome, By: tc.by}, tc.message)
			if passed != tc.passed {
				t.Errorf("passed is %v and what is seen is %q", passed, seen)
			}
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	o := map[string]any{"spec": map[string]any{"replicas": int64(2), "ports": []any{map[string]any{"port": int64(80)}, map[string]any{"port": int64(81)}}}}
	for path, want := range map[string]string{
		".spec.replicas": "2", "spec.replicas": "2", "{.spec.ports[1].port}": "81", ".spec.ports[*].port": "[80,81]", ".spec.missing": "null",
	} {
		if got, err := fieldOf(o, path); err != nil || jsonOf(got) != want {
			t.Errorf("%s is %s (%v), want %s", path, jsonOf(got), err, want)
		}
	}
	if _, err := fieldOf(o, ".spec["); err == nil {
		t.Error("a broken path is no error")
	}
}
