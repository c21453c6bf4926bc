// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/world"
)

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

// What Flux was asked to try again is on its way until it has; so is what it took back,
// until it gives it up.
func TestHealthOfWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	condition := func(of, reason string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: of, Status: status, Reason: reason}
	}
	failed := condition("Ready", "InstallFailed", metav1.ConditionFalse)
	takenBack := condition("Ready", "UninstallSucceeded", metav1.ConditionFalse)
	gaveUp := condition("Stalled", "RetriesExceeded", metav1.ConditionTrue)
	for name, tc := range map[string]struct {
		asked, handled string
		conditions     []metav1.Condition
		want           Health
	}{
		"failed":                  {"", "", []metav1.Condition{failed}, Failed},
		"asked to try again":      {"two", "one", []metav1.Condition{failed}, Progressing},
		"failed again":            {"two", "two", []metav1.Condition{failed}, Failed},
		"taken back":              {"", "", []metav1.Condition{takenBack}, Progressing},
		"taken back and given up": {"", "", []metav1.Condition{takenBack, gaveUp}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &helmv2.HelmRelease{}
			h.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": tc.asked}
			h.Status.LastHandledReconcileAt, h.Status.Conditions = tc.handled, tc.conditions
			if got := releaseRow(h, "oil").Health; got != tc.want {
				t.Errorf("health is %s, want %s", got, tc.want)
			}
		})
	}
}

// At first what may have come before its rights is tried again, after an edit what had
// failed before it.
func TestToRetry(t *testing.T) {
	t.Parallel()
	row := func(kind string, h Health) Row { return Row{Kind: kind, Name: "web", Health: h} }
	for name, tc := range map[string]struct {
		edited     bool
		first, now Row
		want       bool
	}{
		"a sync":                            {false, row("Sync", Progressing), row("Sync", Failed), true},
		"a release":                         {false, row("HelmRelease", Progressing), row("HelmRelease", Failed), false},
		"a sync that an edit broke":         {true, row("Sync", Ready), row("Sync", Failed), false},
		"a sync that was broken":            {true, row("Sync", Failed), row("Sync", Failed), true},
		"a release that was broken":         {true, row("HelmRelease", Failed), row("HelmRelease", Failed), true},
		"a sync that was broken and is not": {true, row("Sync", Failed), row("Sync", Ready), false},
		"what Flux has no part in":          {true, row("ReplicaSet", Failed), row("ReplicaSet", Failed), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Watching{Edited: tc.edited}.toRetry(Picture{tc.first}, Picture{tc.now})
			if (len(got) == 1) != tc.want {
				t.Errorf("tried again are %+v, want %v", got, tc.want)
			}
		})
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
	if err := s.start(processSpec{name: "talker", path: "/bin/sh", args: []string{"-c", "echo last words; exit 3"}}); err != nil {
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
	if err := s.start(processSpec{name: "stubborn", path: "/bin/sh", args: []string{"-c", "trap '' TERM; while :; do sleep 1; done"}}); err != nil {
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
	_, err := FindHelpers(t.Context(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "install Go 1.26") || !strings.Contains(err.Error(), HelpersEnv) {
		t.Errorf("error is %v", err)
	}
	t.Setenv(HelpersEnv, t.TempDir())
	if _, err := FindHelpers(t.Context(), "", nil); err == nil || !strings.Contains(err.Error(), "lacks crds") {
		t.Errorf("error is %v", err)
	}
}

// What fails, is tried again and fails with the same words is no news; whatever else
// happens is.
func TestNews(t *testing.T) {
	t.Parallel()
	row := func(h Health, message string) Picture {
		return Picture{{Kind: "Sync", Namespace: "oil", Name: "apps", Health: h, Message: message}}
	}
	n := newNews()
	for i, step := range []struct {
		picture Picture
		news    bool
	}{
		{row(Progressing, "not looked at yet"), true},
		{row(Progressing, "not looked at yet"), false},
		{row(Failed, "pods \"a-7sfr4\" is forbidden: 3 of 2"), true},
		{row(Progressing, "Reconciliation in progress"), false},
		{row(Failed, "pods \"a-x9kcd\" is forbidden: 4 of 2"), false},
		{row(Failed, "something else"), true},
		{row(Ready, "applied"), true},
		{row(Progressing, "Reconciliation in progress"), true},
	} {
		if got := n.in(step.picture); got != step.news {
			t.Errorf("step %d is news: %v, want %v", i, got, step.news)
		}
		if i == 3 {
			if lasting := n.lasting(step.picture); !lasting.Settled() || lasting[0].Message != "pods \"a-7sfr4\" is forbidden: 3 of 2" {
				t.Errorf("while it is tried again it is %+v", lasting)
			}
		}
	}
}

// Words stand in for what is encrypted, and nothing of SOPS is left that would have Flux
// decrypt it.
func TestStubs(t *testing.T) {
	t.Parallel()
	const enc = "ENC[AES256_GCM,data:x,iv:x,tag:x,type:"
	for name, tc := range map[string]struct{ file, content, want string }{
		"a Secret in words": {
			"a.yaml", "kind: Secret\nstringData:\n  a: " + enc + "str]\nsops:\n  mac: " + enc + "str]\n",
			"kind: Secret\nstringData:\n  a: " + stub + "\n",
		},
		"a Secret's data": {
			"a.yaml", "kind: Secret\ndata:\n  a: " + enc + "str]\nsops: {mac: x}\n",
			"kind: Secret\ndata:\n  a: c3RhbmRzLWluLWZvci1hLXNlY3JldA==\n",
		},
		"other types": {
			"a.yaml", "a: " + enc + "int]\nb: " + enc + "bool]\nc:\n  - " + enc + "str]\nd: plain\nsops: {mac: x}\n",
			"a: 0\nb: false\nc:\n  - " + stub + "\nd: plain\n",
		},
		"a file of variables": {"a.env", "A=" + enc + "str]\nB=plain\nsops_mac=" + enc + "str]\n", "A=" + stub + "\nB=plain\n"},
		"nothing encrypted":   {"a.yaml", "a: sops\n", ""},
		"another format":      {"a.bin", "sops " + enc + "str]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stubber{keys: &Keys{}}
			got := s.filter(world.Mapping{URL: "https://git.example.com/x"}, tc.file, []byte(tc.content))
			if string(got) != tc.want {
				t.Errorf("it becomes\n%s\nwant\n%s", got, tc.want)
			}
			if said := len(s.files()) == 1; said != (tc.want != "") {
				t.Errorf("it is told of: %v", said)
			}
		})
	}
}

// A run that was killed leaves its directory, and the next one clears it; one that runs is
// left alone.
func TestSweep(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	killed, err := openStore(PassingName(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.change(func(s *State) { s.Fleet = "x" }); err != nil {
		t.Fatal(err)
	}
	killed.unlock() // as its end does
	running, err := openStore(PassingName(2))
	if err != nil {
		t.Fatal(err)
	}
	other, err := openStore("mine")
	if err != nil {
		t.Fatal(err)
	}
	other.unlock()
	if err := Sweep(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		store *store
		there bool
	}{{killed, false}, {running, true}, {other, true}} {
		if _, err := os.Stat(s.store.dir); (err == nil) != s.there {
			t.Errorf("%s is there: %v, want %v", s.store.dir, err == nil, s.there)
		}
	}
	if err := running.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(running.dir); err == nil {
		t.Error("a run that ended left its directory")
	}
}
