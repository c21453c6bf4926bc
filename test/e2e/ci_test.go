// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// What the GitHub action and the GitLab template run is run, on a fleet as init writes it.
func TestWhatCIRuns(t *testing.T) {
	var action struct {
		Runs struct {
			Steps []struct{ Name, Run string }
		}
	}
	var jobs map[string]struct {
		Script    []string
		Artifacts struct {
			ExposeAs string `json:"expose_as"`
		}
	}
	parse(t, "action.yml", &action)
	parse(t, "ci/gitlab.yml", &jobs)
	// GitLab takes no pipeline with another title.
	title := regexp.MustCompile(`^(\w[-\w ]*)?$`)
	for name, job := range jobs {
		if !title.MatchString(job.Artifacts.ExposeAs) {
			t.Errorf("job %s: GitLab can't expose artifacts as %q", name, job.Artifacts.ExposeAs)
		}
	}
	s := newShell(t)
	run := func(script string) {
		t.Helper()
		if out, err := s.run("set -eo pipefail\n" + script); err != nil {
			t.Fatalf("%v\n%s\n%s", err, script, out)
		}
	}
	run(`mkdir fleet && cd fleet && tenantry init . --clusters staging --git https://git.example.com/platform/fleet && git init -q`)

	github := ""
	for _, step := range action.Runs.Steps {
		if step.Name == "Test" {
			github = step.Run
		}
	}
	run("export DIR=. KUBERNETES= NETWORK=false RUNNER_TEMP=$HOME GITHUB_STEP_SUMMARY=$HOME/summary")
	run("(" + github + ")")
	run("grep 'The fleet runs' $HOME/summary")

	run("export TENANTRY_DIR=.")
	run(strings.Join(jobs["tenantry-test"].Script, "\n"))
	run("grep '<testsuites' tenantry-test.xml && grep '<html' tenantry-test.html")

	// A run that fails fails the job, and its report is there.
	run(`echo 'resources: [lost.yaml]' > tenants/staging/kustomization.yaml`)
	run(`echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere}}' > tenants/staging/lost.yaml`)
	run("! (" + github + ")")
	run("grep 'The fleet does not run' $HOME/summary")
}

func parse(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
