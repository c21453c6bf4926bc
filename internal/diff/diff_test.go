// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/diff"
)

func object(t *testing.T, tenant, text string, hidden ...string) diff.Object {
	t.Helper()
	fields := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	metadata, _ := fields["metadata"].(map[string]any)
	key := diff.Key{Kind: fields["kind"].(string)}
	key.Name, _ = metadata["name"].(string)
	key.Namespace, _ = metadata["namespace"].(string)
	if group, _, ok := strings.Cut(fields["apiVersion"].(string), "/"); ok {
		key.Group = group
	}
	return diff.Object{Key: key, Fields: fields, Tenant: tenant, Hidden: hidden}
}

// Whatever is a secret is told to change, and never said.
func TestSecretsAreNeverSaid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, after string }{
		"of a Secret":                {"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: SESAME1}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: SESAME2, b: SESAME3}}"},
		"a Secret's that is a text":  {"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: SESAME1}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: [SESAME2]}"},
		"a Secret's misspelt field":  {"{apiVersion: v1, kind: Secret, metadata: {name: a}}", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringDate: {a: SESAME1}}"},
		"values of a release":        {"{apiVersion: h/v2, kind: HelmRelease, metadata: {name: a}, spec: {values: {auth: {password: SESAME1}}}}", "{apiVersion: h/v2, kind: HelmRelease, metadata: {name: a}, spec: {values: {auth: {password: SESAME2, adminToken: SESAME3}}}}"},
		"values of a release, added": {"{apiVersion: h/v2, kind: HelmRelease, metadata: {name: a}, spec: {}}", "{apiVersion: h/v2, kind: HelmRelease, metadata: {name: a}, spec: {values: {auth: {password: SESAME1}}}}"},
		"an environment variable":    {"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, env: [{name: DB_PASSWORD, value: SESAME1}]}]}}", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, env: [{name: DB_PASSWORD, value: SESAME2}]}]}}"},
		"variables, added":           {"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {env: [{name: DB_PASSWORD, value: SESAME1}]}}"},
		"in a URL":                   {"{apiVersion: v1, kind: A, metadata: {name: a}, spec: {url: 'https://a.example/b'}}", "{apiVersion: v1, kind: A, metadata: {name: a}, spec: {url: 'https://user:SESAME1@a.example/b'}}"},
		"a variable from a Secret":   {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: x}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: x SESAME1 y}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := object(t, "", tc.before), object(t, "", tc.after, "SESAME1")
			d := diff.Compare(map[string][]diff.Object{"c": {before}}, map[string][]diff.Object{"c": {after}})
			content, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(content), "SESAME") {
				t.Errorf("%s", content)
			}
			if len(d.Changes) != 1 || len(d.Changes[0].Fields) == 0 {
				t.Errorf("%s: the change is not told", content)
			}
			for _, side := range []diff.Object{before, after} {
				shown, err := json.Marshal(diff.Masked(side.Fields, "SESAME1"))
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(shown), "SESAME") {
					t.Errorf("%s", shown)
				}
			}
		})
	}
}

const binding = "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: %NS}, roleRef: {kind: ClusterRole, name: admin}, subjects: [{kind: User, name: %WHO}]}"

// The same in several clusters is told once, and reach is by person, role and namespaces.
func TestWhatAChangeDoes(t *testing.T) {
	t.Parallel()
	bound := func(namespace, who string) diff.Object {
		return object(t, "oil", strings.NewReplacer("%NS", namespace, "%WHO", who).Replace(binding))
	}
	home := func(lists string) diff.Object {
		return object(t, "oil", "{apiVersion: v1, kind: Namespace, metadata: {name: oil, annotations: {"+lists+"}}}")
	}
	before := []diff.Object{bound("oil", "olivia"), bound("oil-web", "olivia"), home("tenantry.dev/domains: 'a.example,b.example', tenantry.dev/applied: x")}
	after := []diff.Object{bound("oil", "vera"), bound("oil-web", "vera"), home("tenantry.dev/domains: 'b.example,c.example', tenantry.dev/applied: y")}
	d := diff.Compare(map[string][]diff.Object{"one": before, "two": before, "gone": {}}, map[string][]diff.Object{"one": after, "two": after, "new": {}})
	both := []string{"one", "two"}
	want := []diff.Reach{
		{Clusters: both, Who: "User olivia", Role: "admin", Namespaces: []string{"oil", "oil-web"}, Tenant: "oil"},
		{Clusters: both, Who: "User vera", Role: "admin", Namespaces: []string{"oil", "oil-web"}, Gained: true, Tenant: "oil"},
	}
	if diff := cmp.Diff(want, d.Reach); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]diff.List{{Clusters: both, Tenant: "oil", Name: "domains", Added: []string{"c.example"}, Removed: []string{"a.example"}}}, d.Lists); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"new"}, {"gone"}}, [][]string{d.NewClusters, d.GoneClusters}); diff != "" {
		t.Error(diff)
	}
	if d.Count(diff.Changed) != 4 || d.Count(diff.Added)+d.Count(diff.Removed) != 0 {
		t.Errorf("%+v", d.Changes)
	}
}
