// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGitServer clones a mapped directory under its outside URL, through the proxy.
func TestGitServer(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "a: 1\n")
	write(t, filepath.Join(dir, ".gitignore"), "secret\n")
	write(t, filepath.Join(dir, "secret"), "x\n")
	ca, err := newAuthority(filepath.Join(state, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	repo, err := newGitRepo(t.Context(), Mapping{URL: "https://git.example.com/team/app.git", Dir: dir}, filepath.Join(state, "0.git"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := startGitServer(t.Context(), ca, []*gitRepo{repo}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	clone := func(address string) (string, error) {
		to := filepath.Join(t.TempDir(), "clone")
		cmd := exec.CommandContext(t.Context(), "git", "clone", "--quiet", address, to)
		cmd.Env = append(gitEnv(), "HTTPS_PROXY="+s.URL(), "GIT_SSL_CAINFO="+ca.file(), "GIT_TERMINAL_PROMPT=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return string(out), err
		}
		return to, nil
	}
	for _, address := range []string{"https://git.example.com/team/app", "https://git.example.com/team/app.git"} {
		to, err := clone(address)
		if err != nil {
			t.Fatalf("%s: %v %s", address, err, to)
		}
		if content, err := os.ReadFile(filepath.Join(to, "a.yaml")); err != nil || string(content) != "a: 1\n" {
			t.Errorf("%s: %v %q", address, err, content)
		}
		if _, err := os.Stat(filepath.Join(to, "secret")); err == nil {
			t.Errorf("%s: what is ignored is served", address)
		}
	}
	write(t, filepath.Join(dir, "b.yaml"), "b: 2\n")
	if changed, err := repo.snapshot(t.Context()); err != nil || !changed {
		t.Errorf("a new file: changed %v, %v", changed, err)
	}
	if changed, err := repo.snapshot(t.Context()); err != nil || changed {
		t.Errorf("nothing new: changed %v, %v", changed, err)
	}
	to, err := clone("https://git.example.com/team/app")
	if err != nil {
		t.Fatal(err, to)
	}
	if _, err := os.Stat(filepath.Join(to, "b.yaml")); err != nil {
		t.Errorf("the change is not served: %v", err)
	}
	for _, address := range []string{"https://git.example.com/team/other", "https://elsewhere.example.com/x/y"} {
		if out, err := clone(address); err == nil {
			t.Errorf("%s is served: %s", address, out)
		}
	}
	if got := strings.Join(s.misses, " "); got != "https://git.example.com/team/other https://elsewhere.example.com" {
		t.Errorf("misses are %q", got)
	}
}

func TestGitServerKeepsToMappedPaths(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a"), "a")
	ca, err := newAuthority(filepath.Join(state, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	repo, err := newGitRepo(t.Context(), Mapping{URL: "https://git.example.com/team/app", Dir: dir}, filepath.Join(state, "git", "0.git"))
	if err == nil {
		_, err = os.Stat(filepath.Join(state, "pki", "ca.key"))
		if err == nil {
			t.Error("the authority's key is on disk")
		}
	} else {
		t.Fatal(err)
	}
	s, err := startGitServer(t.Context(), ca, []*gitRepo{repo}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	proxy, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for path, want := range map[string]int{
		"/team/app/info/refs?service=git-upload-pack":   http.StatusOK,
		"/team/app/info/refs?service=git-receive-pack":  http.StatusForbidden,
		"/team/app/../../pki/ca.crt":                    http.StatusNotFound,
		"/team/app/%2e%2e/%2e%2e/pki/ca.crt":            http.StatusNotFound,
		"/team/apple/info/refs?service=git-upload-pack": http.StatusNotFound,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://git.example.com"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
	}
}

func TestExpectedRefusals(t *testing.T) {
	t.Parallel()
	expect := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.ExpectAnnotation: v1alpha1.ExpectRefused}}}
	for name, tc := range map[string]struct {
		object client.Object
		row    Row
		want   Health
	}{
		"refused by RBAC or policy":   {expect, Row{Health: Failed, Message: `configmaps "x" is forbidden: User "y" cannot patch`}, Refused},
		"failed for another reason":   {expect, Row{Health: Failed, Message: "path not found"}, Failed},
		"refused by the proxy":        {expect, Row{Health: Failed, Message: "source: unable to clone: Forbidden"}, Failed},
		"let through":                 {expect, Row{Health: Ready}, Breached},
		"on its way":                  {expect, Row{Health: Progressing}, Progressing},
		"refused and not meant to be": {&kustomizev1.Kustomization{}, Row{Health: Failed, Message: "is forbidden: x"}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := expecting(tc.object, tc.row).Health; got != tc.want {
				t.Errorf("health is %s, want %s", got, tc.want)
			}
		})
	}
}

func TestWhatIsSuspendedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	k := &kustomizev1.Kustomization{}
	k.Spec.Suspend = true
	if got := kustomizationRow(k, "oil", nil); got.Health != Ready || got.Message != "suspended" {
		t.Errorf("the row is %+v", got)
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	failed, ready := Row{Health: Failed}, Row{Health: Ready}
	waits := Row{Health: Progressing, Message: "dependency 'flux-system/x' is not ready"}
	runs := Row{Health: Progressing, Message: "Reconciliation in progress"}
	for name, tc := range map[string]struct {
		picture       Picture
		good, settled bool
	}{
		"nothing":                          {nil, false, false},
		"all Ready":                        {Picture{ready, {Health: Refused}}, true, false},
		"one failed":                       {Picture{ready, failed}, false, true},
		"one failed and one waits for it":  {Picture{failed, waits}, false, true},
		"one failed and one is on its way": {Picture{failed, runs}, false, false},
		"one was let through":              {Picture{ready, {Health: Breached}}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.picture.Good() != tc.good || tc.picture.Settled() != tc.settled {
				t.Errorf("good %v, settled %v", tc.picture.Good(), tc.picture.Settled())
			}
		})
	}
}

func TestASupervisedProcessThatDiesIsToldOf(t *testing.T) {
	t.Parallel()
	s, err := newSupervisor(t.TempDir(), func([]processRecord) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	if err := s.start(processSpec{name: "talker", path: "/bin/sh", args: []string{"-c", "echo last words; exit 3"}, grace: time.Second}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.dead:
		for _, want := range []string{"talker died: exit status 3", "last words"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nobody told")
	}
}

func TestStoppingEndsWhatWillNotEnd(t *testing.T) {
	t.Parallel()
	var records []processRecord
	s, err := newSupervisor(t.TempDir(), func(r []processRecord) error { records = r; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.start(processSpec{name: "stubborn", path: "/bin/sh", args: []string{"-c", "trap '' TERM; while :; do sleep 1; done"}, grace: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if len(records) != 1 || startTime(records[0].PID) != records[0].Started {
		t.Fatalf("recorded %+v", records)
	}
	s.stop()
	if startTime(records[0].PID) == records[0].Started {
		t.Error("it runs on")
	}
}

// What a crash left running is ended by id, and only the very process that was started.
func TestLeftoversAreEndedByIdAndStart(t *testing.T) {
	t.Parallel()
	start := func() *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	ours, another := start(), start()
	defer func() { _ = another.Process.Kill(); _ = another.Wait() }()
	endLeftovers([]processRecord{
		{Name: "ours", PID: ours.Process.Pid, Started: startTime(ours.Process.Pid)},
		{Name: "reused", PID: another.Process.Pid, Started: "1"},
	})
	if err := ours.Wait(); err == nil {
		t.Error("ours ended well")
	}
	if startTime(another.Process.Pid) == "" {
		t.Error("another's process was ended")
	}
}

func TestMissingGoToolchainSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(HelpersEnv, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := FindHelpers(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "install Go 1.26") || !strings.Contains(err.Error(), HelpersEnv) {
		t.Errorf("error is %v", err)
	}
	if _, err := newGitRepo(t.Context(), Mapping{URL: "https://x.example.com/y", Dir: t.TempDir()}, filepath.Join(t.TempDir(), "0.git")); err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("error is %v", err)
	}
	t.Setenv(HelpersEnv, t.TempDir())
	if _, err := FindHelpers(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "lacks crds") {
		t.Errorf("error is %v", err)
	}
}
