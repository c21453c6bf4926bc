// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/tenantry/tenantry/internal/render"
)

// write writes an archive to a directory of its own.
func write(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		full := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t *testing.T, dir string) *render.Fleet {
	t.Helper()
	f, err := render.Open(dir, render.Options{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// found is an object of a cluster as JSON, or "".
func found(t *testing.T, c *render.Cluster, what string) string {
	t.Helper()
	for _, f := range c.Final() {
		if f.String() == what {
			content, err := json.Marshal(f.Fields)
			if err != nil {
				t.Fatal(err)
			}
			return string(content)
		}
	}
	return ""
}

const sync = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: flux-system}
spec:
  interval: 1m
  prune: true
  path: %s
  sourceRef: {kind: GitRepository, name: flux-system}
`

// What Flux puts together, wherever it says so.
func TestWhatAClusterGets(t *testing.T) {
	t.Parallel()
	// The sync stands before what its variables come from.
	dir := write(t, "-- clusters/a/apps.yaml --\n"+fmt.Sprintf(sync, "apps", "./apps")+`  targetNamespace: home
  namePrefix: x-
  components: [../component, ../nowhere]
  ignoreMissingComponents: true
  commonMetadata: {labels: {cluster: a}}
  patches: [{target: {kind: ConfigMap, name: app}, patch: '[{"op": "add", "path": "/data/patched", "value": "${who}"}]'}]
  postBuild: {substitute: {who: me}, substituteFrom: [{kind: ConfigMap, name: vars}]}
-- clusters/a/config.yaml --
`+fmt.Sprintf(sync, "config", "./config")+`-- clusters/b/apps.yaml --
`+fmt.Sprintf(sync, "apps", "./apps")+`  commonMetadata: {labels: {cluster: b}}
-- config/vars.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: vars, namespace: flux-system}
data: {region: north}
-- apps/kustomization.yaml --
namePrefix: dev-
resources: [app.yaml]
-- apps/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: apps}
data: {region: "${region}", kept: "$${region}", default: "${other:=none}"}
-- component/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [extra.yaml]
-- component/extra.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
`)
	all := open(t, dir).Clusters("a", "b")
	for _, c := range all {
		for _, p := range c.Problems {
			t.Errorf("%s: %s: %s", c.Name, p.Place, p.What)
		}
	}
	for what, wants := range map[string][]string{
		"ConfigMap home/x-app":   {`"region":"north"`, `"kept":"${region}"`, `"default":"none"`, `"patched":"me"`, `"cluster":"a"`},
		"ConfigMap home/x-extra": {`"cluster":"a"`},
	} {
		got := found(t, all[0], what)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
	}
	if got := found(t, all[1], "ConfigMap apps/dev-app"); !strings.Contains(got, `"cluster":"b"`) || strings.Contains(got, `"cluster":"a"`) {
		t.Errorf("cluster b has %s", got)
	}
}

// Many clusters share directories, and none sees what another does with them.
func TestClustersDontMeet(t *testing.T) {
	t.Parallel()
	const clusters = 40
	archive := &strings.Builder{}
	var names []string
	for i := range clusters {
		name := fmt.Sprintf("c%02d", i)
		names = append(names, name)
		fmt.Fprintf(archive, "-- clusters/%s/apps.yaml --\n"+sync+"  commonMetadata: {labels: {cluster: %s}}\n", name, "apps", "./apps", name)
		fmt.Fprintf(archive, "---\n"+sync+"  components: [../component%d]\n", "more", "./more", i%2)
	}
	archive.WriteString("-- apps/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: apps}\n")
	archive.WriteString("-- more/kustomization.yaml --\nresources: [a.yaml, b.yaml, c.yaml]\n")
	for _, n := range []string{"a", "b", "c"} {
		fmt.Fprintf(archive, "-- more/%s.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: more}\n", n, n)
	}
	for i := range 2 {
		fmt.Fprintf(archive, "-- component%d/kustomization.yaml --\nkind: Component\nresources: [x.yaml]\n-- component%d/x.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: only%d, namespace: more}\n", i, i, i)
	}
	for i, c := range open(t, write(t, archive.String())).Clusters(names...) {
		if got := found(t, c, "ConfigMap apps/a"); !strings.Contains(got, `"cluster":"`+c.Name+`"`) {
			t.Errorf("%s has %s", c.Name, got)
		}
		if found(t, c, fmt.Sprintf("ConfigMap more/only%d", i%2)) == "" || found(t, c, fmt.Sprintf("ConfigMap more/only%d", 1-i%2)) != "" {
			t.Errorf("%s has another's component", c.Name)
		}
	}
}

// Charts are rendered as helm-controller would, with what they ask the cluster for.
func TestReleases(t *testing.T) {
	t.Parallel()
	const release = `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %s, namespace: apps}
spec:
  interval: 1m
  chart: {spec: {chart: %s, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}%s}}
`
	dir := write(t, "-- clusters/a/releases.yaml --\n"+fmt.Sprintf(release, "good", "./charts/good", ", valuesFiles: [./charts/good/values-prod.yaml]")+`  valuesFrom: [{kind: Secret, name: values}]
  postRenderers: [{kustomize: {patches: [{target: {kind: ConfigMap}, patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]'}]}}]
---
`+fmt.Sprintf(release, "away", "./charts/away", "")+"---\n"+fmt.Sprintf(release, "outside", "../../outside", "")+`---
apiVersion: v1
kind: Secret
metadata: {name: values, namespace: apps}
stringData: {values.yaml: "password: correct horse\n"}
-- charts/good/Chart.yaml --
apiVersion: v2
name: good
version: 1.0.0
dependencies: [{name: library, version: 1.0.0, repository: "file://../library"}]
-- charts/good/values.yaml --
env: dev
-- charts/good/values-prod.yaml --
env: prod
-- charts/good/templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
data:
  env: {{ .Values.env }}
  ingress: {{ .Capabilities.APIVersions.Has "networking.k8s.io/v1/Ingress" | quote }}
  own: {{ .Capabilities.APIVersions.Has "example.com/v1" | quote }}
  chance: {{ randAlphaNum 10 }}
  password: {{ .Values.password }}
  library: {{ include "library.name" . }}
-- charts/good/crds/a.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {group: example.com, scope: Cluster, names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}
-- charts/library/Chart.yaml --
apiVersion: v2
name: library
version: 1.0.0
type: library
-- charts/library/templates/_name.tpl --
{{ define "library.name" }}from-library{{ end }}
-- charts/away/Chart.yaml --
apiVersion: v2
name: away
version: 1.0.0
dependencies: [{name: other, version: 1.0.0, repository: "https://charts.example.com"}]
`)
	c := open(t, dir).Cluster("a")
	got := found(t, c, "ConfigMap apps/good")
	for _, want := range []string{`"env":"prod"`, `"ingress":"true"`, `"own":"true"`, `"chance":"(random)"`, `"library":"from-library"`, `"annotations":{"a":"b"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, f := range c.Final() {
		if f.Kind == "ConfigMap" && len(f.Hidden) == 0 {
			t.Error("what came from a Secret is not known as such")
		}
	}
	why := map[string]string{}
	for _, r := range c.Releases {
		why[r.Object.Name] = r.Why
	}
	if why["good"] != "" || !strings.Contains(why["away"], "depends on other of https://charts.example.com") || !strings.Contains(why["outside"], "is not in") {
		t.Errorf("%v", why)
	}
}

// Nothing is fetched, wherever a kustomization says so, and no git is started.
func TestNothingIsFetched(t *testing.T) {
	bin := t.TempDir()
	started := filepath.Join(bin, "started")
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\ntouch "+started+"\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	asked := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer s.Close()
	for name, kustomization := range map[string]string{
		"a generated file":   "configMapGenerator: [{name: a, files: ['k=URL/x']}]",
		"an environment":     "configMapGenerator: [{name: a, envs: ['URL/x']}]",
		"a schema":           "openapi: {path: URL/x}\nnamePrefix: a",
		"a resource":         "namePrefix: a\nresources: ['URL/x.yaml']",
		"a patch":            "namePrefix: a\npatches: [{path: URL/x}]",
		"a replacement":      "replacements: [{path: URL/x}]",
		"a generator":        "generators: ['bob@127.0.0.1:repo/x']",
		"a generator's file": "generators: [g.yaml]",
		"a transformer":      "transformers: [t]",
		"a component":        "components: ['git::URL/x']",
		"by its host alone":  "namePrefix: a\nresources: ['bitbucket.org/a/b', 'gh:a/b', 'host.example:a/b']",
	} {
		dir := write(t, "-- clusters/a/kustomization.yaml --\n"+strings.ReplaceAll(kustomization, "URL", s.URL)+
			"\n-- clusters/a/g.yaml --\napiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\nfiles: ['k="+s.URL+"/x']\n-- clusters/a/t/kustomization.yaml --\nresources: ['bob@127.0.0.1:repo/x']\n")
		if c := open(t, dir).Cluster("a"); len(c.Problems) == 0 {
			t.Errorf("%s: nothing is told", name)
		}
		if _, err := os.Stat(started); err == nil {
			t.Fatalf("%s: git was started", name)
		}
		select {
		case path := <-asked:
			t.Errorf("%s: %s was fetched", name, path)
		default:
		}
	}
}
