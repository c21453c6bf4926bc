// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/testkit"
)

// binary is the program under test, and root the repository's root.
var binary, root string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tenantry-e2e-*")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if root, err = filepath.Abs("../.."); err != nil {
		return fail(err)
	}
	binary = filepath.Join(dir, "tenantry")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "./cmd/tenantry")
	build.Dir, build.Stderr = root, os.Stderr
	if err := build.Run(); err != nil {
		return fail(err)
	}
	// State of its own, so that a developer's clusters are left alone.
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")); err != nil {
		return fail(err)
	}
	helpers, err := local.FindHelpers(context.Background(), "", testkit.Progress{})
	if err != nil {
		return fail(err)
	}
	if err := os.Setenv(local.HelpersEnv, helpers.Dir); err != nil {
		return fail(err)
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "FAIL:", err)
	return 1
}

// result is how a run of the program ended.
type result struct {
	code     int
	out, err string
}

// tenantry runs the program to its end.
func tenantry(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// examples is a copy of the examples that a test may change.
func examples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path, old, with string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	write(t, path, strings.Replace(string(content), old, with, 1))
}

// cluster is a local cluster that runs detached.
type cluster struct {
	t      *testing.T
	config *rest.Config
	client client.WithWatch
}

// up runs the examples in dir detached until the end of the test.
func up(t *testing.T, name, dir string) *cluster {
	t.Helper()
	t.Cleanup(func() {
		cmd := exec.Command(binary, "down", "--name", name)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
		expectNoProcesses(t, name)
	})
	r := tenantry(t, "up", "--fleet", filepath.Join(dir, "fleet"), "--name", name, "--detach", "--timeout", "3m")
	if r.code != 0 {
		t.Fatalf("up: exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
	state, err := local.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", state.Kubeconfigs["admin"])
	if err != nil {
		t.Fatal(err)
	}
	cfg = kube.Unthrottled(cfg)
	c, err := kube.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t, cfg, c}
}

func (c *cluster) as(user string) client.Client {
	c.t.Helper()
	cl, err := kube.NewClient(kube.As(c.config, user))
	if err != nil {
		c.t.Fatal(err)
	}
	return cl
}

// processes are the running programs that were told of a cluster's files.
func processes(t *testing.T, name string) []string {
	t.Helper()
	state, err := local.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		// Some are told of their files by arguments, some by the environment. One that
		// ended while we looked has neither.
		args, _ := os.ReadFile(filepath.Join(e, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(e, "environ"))
		if strings.Contains(string(args)+string(env), filepath.Join(state, name)+"/") {
			found = append(found, strings.ReplaceAll(string(args), "\x00", " "))
		}
	}
	slices.Sort(found)
	return found
}

func expectNoProcesses(t *testing.T, name string) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "no process is left", func() error {
		if left := processes(t, name); len(left) > 0 {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
}

func decode(t *testing.T, s string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), into); err != nil {
		t.Fatalf("%v in:\n%s", err, s)
	}
}
