// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/testkit"
)

func TestUpOnceRunsTheExampleFleet(t *testing.T) {
	r := tenantry(t, "up", "--fleet", filepath.Join(root, "examples", "fleet"), "--name", "once", "--once", "-o", "json")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
	var got struct {
		Ready bool
		Rows  local.Picture
	}
	decode(t, r.out, &got)
	health := map[string]local.Health{}
	for _, row := range got.Rows {
		health[row.Key()] = row.Health
	}
	for key, want := range map[string]local.Health{
		"Tenant /oil": local.Ready, "Tenant /gas": local.Ready,
		"Sync oil/apps": local.Ready, "Sync gas/apps": local.Ready,
		"HelmRelease oil/greeter":           local.Ready,
		"Kustomization gas/wrong-namespace": local.Refused,
		"Kustomization flux-system/tenants": local.Ready,
	} {
		if health[key] != want {
			t.Errorf("%s is %q, want %s", key, health[key], want)
		}
	}
	expectNoProcesses(t, "once")
}

func TestUpOnceRunsTheOtherCluster(t *testing.T) {
	r := tenantry(t, "up", "--fleet", filepath.Join(root, "examples", "fleet"), "--name", "prod", "--cluster", "production", "--once")
	if r.code != 0 || !strings.Contains(r.out, "cluster production, 2 tenants; 1 refused, as expected") {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
}

// An attempt that is let through although it is there to be refused fails the run.
func TestUpFailsWhenARefusalIsExpectedInVain(t *testing.T) {
	dir := examples(t)
	replace(t, filepath.Join(dir, "tenants/gas/wrong-namespace/configmap.yaml"), "namespace: default", "namespace: gas-web")
	r := tenantry(t, "up", "--fleet", filepath.Join(dir, "fleet"), "--name", "vain", "--once", "--timeout", "90s")
	if r.code != 1 || !strings.Contains(r.out, "expected to be refused, and was let through") {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
}

func TestBadFleets(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(dir string)
		args   []string
		code   int
		says   string
	}{
		"a file that doesn't parse": {func(dir string) {
			write(t, filepath.Join(dir, "fleet/tenants/base/oil/tenant.yaml"), "kind: Tenant\nspec:\n  owners: [\n  x: y\n")
		}, nil, 1, "tenants/base/oil/tenant.yaml:3: "},
		"a repository that is not there": {func(dir string) {
			replace(t, filepath.Join(dir, "fleet/tenantry.yaml"), "../tenants/gas", "../tenants/coal")
		}, nil, 1, "tenantry.yaml:13: repository https://git.example.com/gas/apps"},
		"a field that nobody knows": {func(dir string) {
			replace(t, filepath.Join(dir, "fleet/tenantry.yaml"), "cluster: staging", "clustr: staging")
		}, nil, 1, "tenantry.yaml:6: field clustr not found"},
		"a cluster that is not there": {func(string) {}, []string{"--cluster", "moon"}, 1, "the fleet has no cluster moon; it has production, staging"},
		"a map that is none":          {func(string) {}, []string{"--map", "nonsense"}, 2, "want URL=DIR"},
		"a map to nowhere":            {func(string) {}, []string{"--map", "https://git.example.com/x/y=/nowhere"}, 1, "/nowhere is not a directory"},
		"no clusters": {func(dir string) {
			_ = os.RemoveAll(filepath.Join(dir, "fleet/clusters"))
			_ = os.Remove(filepath.Join(dir, "fleet/tenantry.yaml"))
		}, nil, 1, "there is no clusters directory"},
		"a name that is none": {func(string) {}, []string{"--name", "No Name"}, 2, "use 1 to 32 lower-case letters"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := examples(t)
			tc.change(dir)
			args := append([]string{"up", "--fleet", filepath.Join(dir, "fleet"), "--once", "--name", "bad"}, tc.args...)
			r := tenantry(t, args...)
			if r.code != tc.code || !strings.Contains(r.err, tc.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s", r.code, tc.code, tc.says, r.err)
			}
			if strings.Count(r.err, "tenantry: ") != 1 {
				t.Errorf("not one error:\n%s", r.err)
			}
		})
	}
}

// start begins `up` in the foreground and waits until the cluster serves.
func start(t *testing.T, name, fleet string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, "up", "--fleet", fleet, "--name", name)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	testkit.Eventually(t, 60*time.Second, "the cluster serves", func() error {
		s, err := local.Load(name)
		if err == nil && !s.Ready {
			err = fmt.Errorf("its state is %+v", s)
		}
		return err
	})
	return cmd
}

func TestNothingIsLeftAfterCtrlC(t *testing.T) {
	fleet := filepath.Join(root, "examples", "fleet")
	cmd := start(t, "ctrlc", fleet)
	if n := len(processes(t, "ctrlc")); n < 10 {
		t.Errorf("only %d processes run", n)
	}
	r := tenantry(t, "up", "--fleet", fleet, "--name", "ctrlc", "--once")
	if r.code != 1 || !strings.Contains(r.err, "cluster ctrlc runs already") {
		t.Errorf("a second up: exit code %d\n%s", r.code, r.err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("up ended with %v", err)
	}
	expectNoProcesses(t, "ctrlc")
	if _, err := local.Load("ctrlc"); err == nil {
		t.Error("state is left")
	}
}

func TestTheNextStartCleansUpAfterAKill(t *testing.T) {
	fleet := filepath.Join(root, "examples", "fleet")
	cmd := start(t, "killed", fleet)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	r := tenantry(t, "local", "status")
	if !strings.Contains(r.out, "crashed; clear up with") {
		t.Errorf("status does not tell of the crash:\n%s", r.out)
	}
	if r := tenantry(t, "up", "--fleet", fleet, "--name", "killed", "--once"); r.code != 0 {
		t.Errorf("up after a crash: exit code %d\n%s", r.code, r.err)
	}
	expectNoProcesses(t, "killed")
}

func TestAProcessThatDiesIsNamed(t *testing.T) {
	cmd := exec.Command(binary, "up", "--fleet", filepath.Join(root, "examples", "fleet"), "--name", "dying")
	var out strings.Builder
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 60*time.Second, "the cluster serves", func() error {
		s, err := local.Load("dying")
		if err != nil {
			return err
		}
		if !s.Ready {
			return errors.New("it is not ready")
		}
		for _, p := range s.Processes {
			if p.Name == "kube-scheduler" {
				return syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		return fmt.Errorf("no scheduler in %+v", s.Processes)
	})
	if err := cmd.Wait(); err == nil {
		t.Error("up ended well")
	}
	if !strings.Contains(out.String(), "kube-scheduler died: signal: killed; the end of") {
		t.Errorf("the process is not named:\n%s", out.String())
	}
	expectNoProcesses(t, "dying")
}
