// SPDX-License-Identifier: Apache-2.0

// Package tenantry holds the rules of the house as tests: who may import whom.
package tenantry

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tenantry/tenantry/"

// clients are packages that talk to a cluster, a clock's timers or the world; code
// that imports none of them can't.
var clients = []string{"k8s.io/client-go/rest", "k8s.io/client-go/kubernetes", "sigs.k8s.io/controller-runtime/pkg/client", "sigs.k8s.io/controller-runtime/pkg/log", "net/http", "os/exec"}

// rules say what each package must not depend on, directly or through others.
var rules = []struct {
	pkg       string
	forbidden []string
	why       string
}{
	{"api/v1alpha1", []string{module + "internal/", "sigs.k8s.io/controller-runtime"}, "the API is importable by everybody"},
	{"internal/compile", append([]string{module + "internal/"}, clients...), "compiling is pure"},
	{"internal/policy", append([]string{module + "internal/"}, clients...), "policies are data"},
	{"internal/status", append([]string{module + "internal/"}, clients...), "conditions are computed from facts"},
	{"internal/fleet", []string{module + "internal/cli", module + "internal/compile", module + "internal/policy", module + "internal/kube", module + "internal/schema", "sigs.k8s.io/controller-runtime", "k8s.io/client-go"}, "a fleet is read without a cluster"},
	{"internal/tree", append([]string{module}, clients...), "files are read and changed, whatever they mean"},
	{"internal/words", append([]string{module}, clients...), "words are for people, whatever they are about"},
	{"internal/build", append(above("tree", "words"), clients...), "directories are rendered, whatever they are for"},
	{"internal/schema", append(above("words"), "net/http", "os/exec"), "a schema is read, and knows no feature"},
	{"internal/chart", append(above("tree"), "net/http", "os/exec"), "charts are rendered, whoever installs them"},
	{"internal/admit", append(above("policy"), "net/http", "os/exec"), "walls are asked about one request at a time"},
	{"internal/render", append(above("tree", "words", "build", "schema", "chart", "compile"), "net/http", "os/exec"), "a cluster is rendered, and not judged"},
	{"internal/lint", append(above("tree", "words", "build", "schema", "chart", "compile", "render", "admit", "policy"), "net/http", "os/exec"), "what is found is told by others"},
	{"internal/diff", append(above(), clients...), "comparing is pure"},
	{"internal/rehearse", above("kube"), "a cluster is asked about objects, whoever rendered them"},
	{"internal/migrate", append([]string{module + "internal/"}, clients...), "importing is pure"},
	{"internal/survey", []string{module + "internal/controller", module + "internal/cli", module + "internal/install", module + "internal/local", module + "internal/fleet", module + "internal/attack", module + "internal/audit"}, "siblings don't import each other"},
	{"internal/facts", []string{module + "internal/controller", module + "internal/cli", module + "internal/install", module + "internal/local", module + "internal/fleet"}, "facts are read for whoever compiles"},
	{"internal/kube", []string{module + "internal/"}, "the cluster's adapter knows no feature"},
	{"internal/controller", []string{module + "internal/local", module + "internal/cli", module + "internal/fleet", module + "internal/install"}, "siblings don't import each other"},
	{"internal/install", []string{module + "internal/local", module + "internal/cli", module + "internal/fleet", module + "internal/controller"}, "siblings don't import each other"},
	{"internal/report", append([]string{module + "internal/"}, clients...), "a report knows cases and nothing of where they are from"},
	{"internal/attack", []string{module + "internal/cli", module + "internal/controller", module + "internal/install", module + "internal/local", module + "internal/fleet", module + "internal/audit"}, "the suite attacks any cluster, whoever made it"},
	{"internal/audit", []string{module + "internal/cli", module + "internal/controller", module + "internal/install", module + "internal/local", module + "internal/fleet"}, "siblings don't import each other"},
	{"internal/world", above("chart", "tree"), "the outside is served, whoever asks"},
	{"internal/trial", append(above("report", "words"), clients...), "results are told, whatever ran"},
	{"internal/expect", above("kube", "attack", "tree", "words", "policy", "compile", "world", "chart"), "a cluster is asked, whoever runs it"},
	{"internal/drill", []string{module + "internal/cli", module + "internal/controller", module + "internal/fleet", module + "internal/install"}, "siblings don't import each other"},
	{"internal/local", []string{module + "internal/cli", module + "internal/controller", module + "internal/install", "k8s.io/kubernetes", "go.etcd.io/etcd/server"}, "the heavy parts are processes, and siblings don't import each other"},
}

// above are the packages that one must not import which builds on the given ones alone.
func above(below ...string) []string {
	entries, err := os.ReadDir("internal")
	if err != nil {
		panic(err) // the test runs in the repository's root
	}
	var all []string
	for _, e := range entries {
		if !slices.Contains(below, e.Name()) {
			all = append(all, module+"internal/"+e.Name())
		}
	}
	return all
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		out, err := exec.Command("go", "list", "-deps", "./"+r.pkg+"/...").Output()
		if err != nil {
			t.Fatalf("go list %s: %v", r.pkg, err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, f := range r.forbidden {
				// A package's own subpackages are no layer of their own.
				own := strings.HasPrefix(dep, module+r.pkg)
				if !own && (dep == f || strings.HasPrefix(dep, strings.TrimSuffix(f, "/")+"/")) && !transitiveOnly(f, r.pkg) {
					t.Errorf("%s imports %s: %s", r.pkg, dep, r.why)
				}
			}
		}
	}
}

// transitiveOnly lets pure packages use API modules that themselves name a network
// package in their types; they may not name one directly.
func transitiveOnly(forbidden, pkg string) bool {
	if forbidden != "net/http" && forbidden != "os/exec" {
		return false
	}
	out, err := exec.Command("go", "list", "-f", "{{join .Imports \"\\n\"}}", "./"+pkg).Output()
	if err != nil {
		return false
	}
	for imp := range strings.FieldsSeq(string(out)) {
		if imp == forbidden {
			return false
		}
	}
	return true
}

func TestModulesKeepTheirPlace(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "replace") || strings.HasPrefix(line, "tool") {
			t.Errorf("go.mod: %q: the product's module has neither, so that go install takes it", strings.TrimSpace(line))
		}
	}
	if _, err := os.Stat("go.work"); err == nil {
		t.Error("go.work is there: a workspace merges the helpers' replaces into the product")
	}
}

func TestEachPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	comments := map[string]int{}
	err := filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "testdata" || e.Name() == "bin") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(e.Name(), "zz_generated") && !strings.HasPrefix(string(content), "// SPDX-License-Identifier: Apache-2.0\n") {
			t.Errorf("%s does not begin with its license", path)
		}
		if strings.HasSuffix(path, "_test.go") && path != "arch_test.go" {
			return nil
		}
		comments[filepath.Dir(path)] += 0
		if f.Doc != nil {
			comments[filepath.Dir(path)]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range comments {
		if n != 1 {
			t.Errorf("%s has %d package comments, want one", dir, n)
		}
	}
}
