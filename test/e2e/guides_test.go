// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenantry/tenantry/internal/local"
)

// TestGuides runs the commands of the guides as they are written, from a directory that
// has the examples, and compares what they print with what the guide says they do. A
// line "..." stands for any lines.
func TestGuides(t *testing.T) {
	for _, name := range []string{"onboard", "variables", "groups", "import", "validate", "test"} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(root, "docs", "guides", name+".md"))
			if err != nil {
				t.Fatal(err)
			}
			s := newShell(t)
			steps := stepsOf(string(content))
			if len(steps) < 5 {
				t.Fatalf("%d commands in it", len(steps))
			}
			for _, step := range steps {
				start := time.Now()
				out, err := s.run(step.command)
				t.Logf("%s: %s", step.command, time.Since(start).Round(time.Millisecond))
				if err != nil && !step.fails() {
					t.Fatalf("line %d: $ %s\n%v\n%s", step.line, step.command, err, out)
				}
				if !matches(step.output, out) {
					t.Errorf("line %d: $ %s\nthe guide says\n%s\nand it prints\n%s", step.line, step.command, strings.Join(step.output, "\n"), out)
				}
			}
		})
	}
}

// step is a command of a guide and what it prints there.
type step struct {
	line    int
	command string
	output  []string
}

// fails tells whether the guide shows an error on purpose.
func (s step) fails() bool {
	return strings.Contains(strings.Join(s.output, "\n"), "tenantry: ") || strings.Contains(s.command, "|| ")
}

// stepsOf reads the console blocks of a guide.
func stepsOf(guide string) []step {
	var all []step
	inside, more := false, false
	for i, line := range strings.Split(guide, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
			more = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			all = append(all, step{line: i + 1, command: strings.TrimPrefix(line, "$ ")})
			more = continues(all[len(all)-1].command)
		case more:
			last := &all[len(all)-1]
			last.command += "\n" + strings.TrimPrefix(line, "> ")
			more = continues(last.command)
		case len(all) > 0:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	return all
}

var heredoc = regexp.MustCompile(`<<'?(\w+)'?`)

// continues tells whether a command goes on in the next line.
func continues(command string) bool {
	if m := heredoc.FindStringSubmatch(command); m != nil {
		return !strings.HasSuffix(command, "\n"+m[1])
	}
	return strings.HasSuffix(command, "\\")
}

// shell keeps the directory and the environment from command to command.
type shell struct {
	dir string
	env []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(filepath.Join(home, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	s := &shell{dir: filepath.Join(home, ".shell"), env: []string{
		"HOME=" + home, "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "NO_COLOR=1",
		local.HelpersEnv + "=" + os.Getenv(local.HelpersEnv),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"cwd": home, "env": ""} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // what a guide that failed left running
		entries, _ := filepath.Glob(filepath.Join(home, ".local/state/tenantry/*/"))
		for _, e := range entries {
			_, _ = s.run("tenantry down --name " + filepath.Base(e))
		}
	})
	return s
}

func (s *shell) run(command string) (string, error) {
	script := fmt.Sprintf("S=%q; . $S/env; cd \"$(cat $S/cwd)\"\n%s\nrc=$?; pwd > $S/cwd; export -p > $S/env; exit $rc", s.dir, command)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Env = s.env
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errors.New("it did not end within two minutes")
	}
	return string(out), err
}

var changing = regexp.MustCompile(`\b[0-9]+(\.[0-9]+)? ?(ms|s|m|h)([0-9]+s)?\b|\b[0-9a-f]{8,40}\b|[0-9]{2}:[0-9]{2}:[0-9]{2}`)

// plain is a line without what differs from run to run.
func plain(line string) string {
	return strings.Join(strings.Fields(changing.ReplaceAllString(line, "~")), " ")
}

// matches compares lines; "..." among the wanted stands for any.
func matches(want []string, out string) bool {
	var w, g []string
	for _, l := range want {
		if l = plain(l); l != "" {
			w = append(w, l)
		}
	}
	for l := range strings.Lines(out) {
		if l = plain(l); l != "" {
			g = append(g, l)
		}
	}
	return matchLines(w, g)
}

func matchLines(want, got []string) bool {
	switch {
	case len(want) == 0:
		return len(got) == 0
	case want[0] == "...":
		for skip := range len(got) + 1 {
			if matchLines(want[1:], got[skip:]) {
				return true
			}
		}
		return false
	default:
		return len(got) > 0 && want[0] == got[0] && matchLines(want[1:], got[1:])
	}
}
