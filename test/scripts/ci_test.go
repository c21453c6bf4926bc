// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// action is what is run of the GitHub Action.
type action struct {
	Runs struct {
		Steps []struct {
			Name, Run string
			Env       map[string]string
		}
	}
}

// pipeline is what is run of the GitLab template, by job.
type pipeline map[string]struct{ Script []string }

func parse(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// ciFleet is a fleet in a Git repository with a change of it, and the program on PATH.
func ciFleet(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(bin, "tenantry"), "../../cmd/tenantry")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	sh(t, dir, env, `
tenantry init . --clusters staging --git https://git.example.com/platform/fleet
git init -q -b main . && git add -A && git commit -qm one
tenantry tenant create oil --env staging
git add -A && git commit -qm two`, true)
	return dir, env
}

// sh runs a script as a CI would, and tells what it printed.
func sh(t *testing.T, dir string, env []string, script string, well bool) string {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if (err == nil) != well {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// spoil makes a fleet that is not well.
func spoil(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "tenants/staging/kustomization.yaml"), []byte("resources: [nowhere]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheGitHubActionDoesWhatItSays(t *testing.T) {
	t.Parallel()
	var a action
	parse(t, "action.yml", &a)
	dir, env := ciFleet(t)
	tmp := t.TempDir()
	env = append(env, "RUNNER_TEMP="+tmp, "GITHUB_STEP_SUMMARY="+filepath.Join(tmp, "summary"), "DIR=.", "KUBERNETES=1.36", "STRICT=false", "BASE="+strings.TrimSpace(sh(t, dir, env, "git rev-parse HEAD~1", true)))
	scripts := map[string]string{}
	for _, s := range a.Runs.Steps {
		scripts[s.Name] = s.Run
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %s: what others write stands in its script: pass it through env", s.Name)
		}
	}
	sh(t, dir, env, scripts["Validate"], true)
	sh(t, dir, env, scripts["What it changes"], true)
	summary, err := os.ReadFile(filepath.Join(tmp, "summary"))
	if err != nil || !strings.Contains(string(summary), "Tenant oil") {
		t.Errorf("%v: %s", err, summary)
	}
	spoil(t, dir)
	if out := sh(t, dir, env, scripts["Validate"], false); !strings.Contains(out, "::error title=path-missing") {
		t.Error(out)
	}
}

func TestTheGitLabTemplateDoesWhatItSays(t *testing.T) {
	t.Parallel()
	var p pipeline
	parse(t, "ci/gitlab.yml", &p)
	dir, env := ciFleet(t)
	env = append(env, "TENANTRY_DIR=.", "CI_MERGE_REQUEST_DIFF_BASE_SHA="+strings.TrimSpace(sh(t, dir, env, "git rev-parse HEAD~1", true)))
	script := func(job string) string { return strings.Join(p[job].Script, "\n") }
	sh(t, dir, env, script("tenantry-validate"), true)
	if out := sh(t, dir, env, script("tenantry-diff"), true); !strings.Contains(out, "Tenant oil") {
		t.Error(out)
	}
	spoil(t, dir)
	if out := sh(t, dir, env, script("tenantry-validate"), false); !strings.Contains(out, "path-missing") {
		t.Error(out)
	}
	report, err := os.ReadFile(filepath.Join(dir, "tenantry.xml"))
	if err != nil || !strings.Contains(string(report), "<failure") {
		t.Errorf("%v: %s", err, report)
	}
}

func TestThePreCommitHookDoesWhatItSays(t *testing.T) {
	t.Parallel()
	var hooks []struct{ Entry string }
	parse(t, ".pre-commit-hooks.yaml", &hooks)
	dir, env := ciFleet(t)
	sh(t, dir, env, hooks[0].Entry, true)
	spoil(t, dir)
	sh(t, dir, env, hooks[0].Entry, false)
}
