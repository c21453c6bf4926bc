// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/tools/txtar"

	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/testkit"
	"github.com/tenantry/tenantry/internal/trial"
)

// TestTheExampleFleetIsTested runs both clusters, with attacks and expectations, and looks
// at every report.
func TestTheExampleFleetIsTested(t *testing.T) {
	out := t.TempDir()
	args := []string{"test", filepath.Join(root, "examples", "fleet"), "-o", "json"}
	for _, ext := range []string{"html", "xml", "md", "txt"} {
		args = append(args, "--report", filepath.Join(out, "report."+ext))
	}
	r := tenantry(t, args...)
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
	var got trial.Run
	decode(t, r.out, &got)
	if !got.Passed || len(got.Clusters) != 2 {
		t.Fatalf("passed is %v, of %d clusters", got.Passed, len(got.Clusters))
	}
	for _, c := range got.Clusters {
		if len(c.Items) < 10 || len(c.Attacks) != 2 || len(c.Expectations) < 6 || len(c.Steps) < 6 {
			t.Errorf("%s has %d items, %d tenants attacked, %d expectations and %d steps", c.Name, len(c.Items), len(c.Attacks), len(c.Expectations), len(c.Steps))
		}
		for _, a := range c.Attacks {
			if sum := a.Sum(); sum.Held < 250 || sum.Through > 0 {
				t.Errorf("%s, tenant %s: %s", c.Name, a.Tenant, sum)
			}
		}
		for _, i := range c.Items {
			if i.File == "" || i.Line == 0 {
				t.Errorf("%s: nobody says where %s %s is from", c.Name, i.Kind, i.At())
			}
		}
	}
	nothingLeft(t)
	if content := read(t, filepath.Join(out, "report.md")); !strings.HasPrefix(content, "### ✅ The fleet runs") {
		t.Errorf("the Markdown begins with %.80s", content)
	}
	var junit struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal([]byte(read(t, filepath.Join(out, "report.xml"))), &junit); err != nil || junit.Tests < 100 || junit.Failures != 0 {
		t.Errorf("JUnit has %d tests and %d failures (%v)", junit.Tests, junit.Failures, err)
	}
	lookAt(t, filepath.Join(out, "report.html"), 2)
	// What is there is not written over.
	if r := tenantry(t, "test", filepath.Join(root, "examples", "fleet"), "--report", filepath.Join(out, "report.html")); r.code != 1 || !strings.Contains(r.err, "give --force") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// lookAt opens a report in a browser that has no network.
func lookAt(t *testing.T, file string, clusters int) {
	t.Helper()
	path := browser(t)
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"), chromedp.WindowSize(1200, 1600))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var title, shown string
	var cards, bars, wide, cells, requests, before, after int
	find := `document.querySelector('section input.find')`
	visible := `[...document.querySelectorAll('section:first-of-type details.tree')].filter(d => !d.hidden && d.checkVisibility()).length`
	if err := chromedp.Run(
		ctx,
		chromedp.Navigate("file://"+file),
		chromedp.Title(&title),
		chromedp.Evaluate(`document.querySelectorAll('.card').length`, &cards),
		chromedp.Evaluate(`[...document.querySelectorAll('.bar')].filter(b => b.getBoundingClientRect().width > 0).length`, &bars),
		chromedp.Evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &wide),
		chromedp.Evaluate(`document.querySelectorAll('table.matrix td.passed').length`, &cells),
		chromedp.Evaluate(`performance.getEntriesByType('resource').length`, &requests),
		chromedp.Evaluate(visible, &before),
		chromedp.Evaluate(find+`.value = 'greeter'; `+find+`.dispatchEvent(new Event('input')); ''`, &shown),
		chromedp.Evaluate(visible, &after),
		chromedp.Text(`section:first-of-type details.tree:not([hidden])`, &shown, chromedp.ByQuery),
	); err != nil {
		t.Fatalf("open %s: %v", file, err)
	}
	if !strings.Contains(title, "✔") || cards != clusters || bars < 20 || cells < 20 {
		t.Errorf("the page %q shows %d cards, %d bars and %d cells of the matrix", title, cards, bars, cells)
	}
	if wide > 0 || requests > 0 {
		t.Errorf("the page is %d pixels too wide and asked for %d other files", wide, requests)
	}
	if after >= before || !strings.Contains(shown, "greeter") {
		t.Errorf("of %d parts %d are left when looking for the greeter, the first of them %q", before, after, shown)
	}
}

// browser is where one is, or the test is skipped; in CI there has to be one.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(testkit.RequireEnv) != "" {
		t.Fatal("there is no browser: install chromium")
	}
	t.Skip("there is no browser: install chromium")
	return ""
}

// stories unpacks the fleet of troubles.
func stories(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	archive, err := txtar.ParseFile("testdata/stories.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		write(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	for from, to := range map[string]string{"examples/fleet/infrastructure/tenantry": "fleet/infrastructure/tenantry", "examples/tenants/oil/charts/greeter": "charts/greeter"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(filepath.Join(root, from))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Sources of every kind, secrets that are decrypted, an operator that does not run here,
// and commits that are refused and let through.
func TestStories(t *testing.T) {
	dir := stories(t)
	r := tenantry(t, "test", filepath.Join(dir, "fleet"), "--cluster", "fine", "--decryption-key", filepath.Join(dir, "age.key"), "-o", "json")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
	var got trial.Run
	decode(t, r.out, &got)
	c := got.Clusters[0]
	if len(c.Expectations) != 8 {
		t.Errorf("%d expectations were asked, want 8", len(c.Expectations))
	}
	for _, want := range []string{
		"webhook ValidatingWebhookConfiguration kyverno-resources", "webhook MutatingWebhookConfiguration kyverno-defaults",
		"operator 2 of kind ClusterPolicy (kyverno.io)", "credentials Secret wood/deploy-key", "credentials Secret coal/bucket-key", "credentials Secret flux-system/flux-system",
	} {
		if !slices.ContainsFunc(c.Asides, func(a trial.Aside) bool { return a.What+" "+a.Object == want }) {
			t.Errorf("nobody says that %s is not as on a real cluster", want)
		}
	}
	for _, a := range c.Asides {
		if a.What == "encrypted" {
			t.Errorf("%s is said to be unreadable, and the key was given", a.Object)
		}
	}
	nothingLeft(t)
}

// What fails is told with the message of Flux or the API server and its line; a place that
// never answers delays nobody else.
func TestTroubles(t *testing.T) {
	dir := stories(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // whoever was accepted is left without an answer
	t.Setenv("HTTPS_PROXY", "http://"+silent.Addr().String())
	r := tenantry(t, "test", filepath.Join(dir, "fleet"), "--cluster", "lab", "--network", "--attacks", "none", "-o", "json")
	if r.code != 1 {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
	var got trial.Run
	decode(t, r.out, &got)
	c := got.Clusters[0]
	if c.Late || c.Error != "" {
		t.Fatalf("late is %v and the error %q", c.Late, c.Error)
	}
	want := map[string][2]string{
		"Sync tin/apps":      {"expected numeric (int or float), got string", "tin/apps.yaml:6"},
		"Sync tin/more":      {"path not found", "fleet/tenants/lab/tin.yaml:12"},
		"Sync lead/apps":     {"source: failed to checkout", "fleet/tenants/lab/lead.yaml:10"},
		"Pod iron-big/big-0": {"Insufficient cpu", "iron/apps.yaml:20"},
		"ReplicaSet":         {"exceeded quota: tenantry", "iron/apps.yaml:5"},
	}
	for _, i := range c.Bad() {
		key := i.Kind + " " + i.At()
		if i.Kind == "ReplicaSet" {
			key = i.Kind
		}
		w, ok := want[key]
		if !ok {
			t.Errorf("%s is bad: %s", key, i.Message)
			continue
		}
		delete(want, key)
		if !strings.Contains(i.Message, w[0]) || !strings.HasSuffix(i.Where(), w[1]) {
			t.Errorf("%s says %q at %s, want %q at %s", key, i.Message, i.Where(), w[0], w[1])
		}
	}
	for key := range want {
		t.Errorf("%s is not told of", key)
	}
	for _, e := range c.Expectations {
		// What fails as it did before a commit has not become Ready by it.
		hidden := strings.HasPrefix(e.Seen, "Kustomization tin/apps is not Ready, as before the commit")
		if hidden == e.Passed || hidden != (e.Name == "what tin adds can't be Ready") {
			t.Errorf("%s: %s", e.Name, e.Seen)
		}
	}
	if !slices.ContainsFunc(c.Asides, func(a trial.Aside) bool { return a.What == "encrypted" }) {
		t.Error("nobody says that words stand in for what is encrypted")
	}
	if !slices.ContainsFunc(c.Unmapped, func(u string) bool { return strings.Contains(u, "git.silent.example/lead/apps (") }) {
		t.Errorf("what did not answer is not among %q", c.Unmapped)
	}
	nothingLeft(t)
}

// Mistakes are one clear error, before anything is started.
func TestBadTests(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(dir string)
		args   []string
		code   int
		says   string
	}{
		"a cluster that is not there": {nil, []string{"--cluster", "moon"}, 1, "the fleet has no cluster moon; it has production, staging"},
		"a map that is none":          {nil, []string{"--map", "nonsense"}, 2, "want URL=DIR"},
		"a minor that is none":        {nil, []string{"--kubernetes", "1.2"}, 2, "--kubernetes 1.2 is not known; use 1.3"},
		"a record without a network":  {nil, []string{"--record", "x"}, 2, "give both"},
		"a key that is none":          {nil, []string{"--decryption-key", "fleet/tenantry.yaml"}, 1, "it holds neither an age identity"},
		"a report of no format":       {nil, []string{"--report", "x.pdf"}, 2, "its ending says the format"},
		"a report into nowhere":       {nil, []string{"--report", "nowhere/x.html"}, 1, "nowhere is not a directory"},
		"an expectation with a typo": {func(dir string) {
			replace(t, filepath.Join(dir, "fleet/tests/tenants.yaml"), "outcome: ready", "outcome: raedy")
		}, nil, 1, `tests/tenants.yaml:46: the greeter greets: outcome "raedy"`},
		"an expectation of no cluster": {func(dir string) {
			replace(t, filepath.Join(dir, "fleet/tests/tenants.yaml"), "clusters: [staging]", "clusters: [moon]")
		}, nil, 1, "tests/tenants.yaml:59: cluster moon: there is no directory clusters/moon"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := examples(t)
			if tc.change != nil {
				tc.change(dir)
			}
			t.Chdir(dir)
			r := tenantry(t, append([]string{"test", "fleet"}, tc.args...)...)
			if r.code != tc.code || !strings.Contains(r.err, tc.says) || strings.Count(r.err, "tenantry: ") != 1 {
				t.Errorf("exit code %d, want %d and one error with %q:\n%s", r.code, tc.code, tc.says, r.err)
			}
		})
	}
	nothingLeft(t)
}

// --keep leaves a cluster that can be used and stopped, and lets go of the terminal. The
// fleet is one that nobody has bootstrapped yet.
func TestKeptClusters(t *testing.T) {
	dir := examples(t)
	if err := os.RemoveAll(filepath.Join(dir, "fleet/clusters/staging/flux-system")); err != nil {
		t.Fatal(err)
	}
	r := tenantry(t, "test", filepath.Join(dir, "fleet"), "--cluster", "staging", "--attacks", "none", "--keep", "-o", "json")
	t.Cleanup(func() { _ = exec.Command(binary, "down", "--name", "test-staging").Run() })
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
	var got trial.Run
	decode(t, r.out, &got)
	if !slices.ContainsFunc(got.Clusters[0].Asides, func(a trial.Aside) bool { return a.What == "bootstrap" }) {
		t.Error("nobody says that the cluster was not bootstrapped")
	}
	for _, name := range []string{"admin", "tenant-oil", "tenant-gas"} {
		if _, err := os.Stat(got.Clusters[0].Kubeconfigs[name]); err != nil {
			t.Errorf("kubeconfig of %s: %v", name, err)
		}
	}
	if r := tenantry(t, "get", "tenants", "--kubeconfig", got.Clusters[0].Kubeconfigs["admin"]); r.code != 0 || !strings.Contains(r.out, "oil") {
		t.Errorf("exit code %d\n%s\n%s", r.code, r.out, r.err)
	}
	if r := tenantry(t, "down", "--name", "test-staging"); r.code != 0 {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	expectNoProcesses(t, "test-staging")
}

// --watch tests again what changes, and tells of a failure as of its mend.
func TestWatchedTests(t *testing.T) {
	dir := examples(t)
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(t.Context(), binary, "test", filepath.Join(dir, "fleet"), "--cluster", "staging", "--attacks", "none", "--watch", "--report", report)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	round := func(what string, done func(trial.Run) bool) {
		t.Helper()
		testkit.Eventually(t, 2*time.Minute, what, func() error {
			content, err := os.ReadFile(report)
			if err != nil {
				return err
			}
			var got trial.Run
			decode(t, string(content), &got)
			if !done(got) {
				return fmt.Errorf("passed is %v, and bad are %+v", got.Passed, got.Clusters[0].Bad())
			}
			return nil
		})
	}
	round("the first round passes", func(r trial.Run) bool { return r.Passed })
	web := filepath.Join(dir, "tenants/oil/base/web.yaml")
	replace(t, web, "replicas: 1", "replicas: one")
	round("a mistake is told of", func(r trial.Run) bool {
		bad := r.Clusters[0].Bad()
		return !r.Passed && len(bad) == 1 && strings.HasSuffix(bad[0].File, "oil/base/web.yaml")
	})
	replace(t, web, "replicas: one", "replicas: 2")
	round("its mend passes", func(r trial.Run) bool { return r.Passed })
	_ = cmd.Process.Signal(os.Interrupt) // its end is awaited
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		t.Error("it does not end")
	}
	nothingLeft(t)
}

// killsEnv says how often a test is stopped at a random moment.
const killsEnv = "TENANTRY_KILLS"

// Stopping at any moment leaves nothing: neither when it is asked to end, nor, once the
// next one has begun, when it is killed.
func TestStoppedTestsLeaveNothing(t *testing.T) {
	n := 6
	if set := os.Getenv(killsEnv); set != "" {
		var err error
		if n, err = strconv.Atoi(set); err != nil {
			t.Fatal(err)
		}
	}
	const longest = 25 * time.Second
	mounts, ports, tmp := read(t, "/proc/self/mounts"), listening(t), t.TempDir()
	for i := range n {
		sig := []os.Signal{syscall.SIGTERM, syscall.SIGKILL}[i%2]
		after := rand.N(longest)
		cmd := exec.CommandContext(t.Context(), binary, "test", filepath.Join(root, "examples", "fleet"), "--cluster", "staging")
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after) // the moment is what is tested
		begun := children(cmd.Process.Pid)
		_ = cmd.Process.Signal(sig) // it may have ended
		err := cmd.Wait()
		t.Logf("%v after %s: %d processes, %v", sig, after.Round(time.Millisecond), len(begun), err)
		if sig == syscall.SIGKILL {
			if err := local.Sweep(); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Eventually(t, 5*time.Second, "all processes are gone", func() error {
			for _, pid := range begun {
				if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
					return errors.New("process " + pid + " runs on: " + string(stat))
				}
			}
			return nil
		})
		nothingLeft(t)
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
			t.Errorf("left on disk: %v", left)
		}
		if now := read(t, "/proc/self/mounts"); now != mounts {
			t.Errorf("mounts were\n%s\nand are\n%s", mounts, now)
		}
		// One that was begun in the very moment ends a moment later.
		testkit.Eventually(t, 5*time.Second, "all ports are free", func() error {
			for address := range listening(t) {
				if !ports[address] {
					return errors.New("somebody still listens on " + address)
				}
			}
			return nil
		})
	}
}

// listening are the addresses on which anybody on this machine takes connections, as the
// kernel writes them.
func listening(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for line := range strings.Lines(read(t, file)) {
			const listen = "0A"
			if f := strings.Fields(line); len(f) > 3 && f[3] == listen {
				all[f[1]] = true
			}
		}
	}
	return all
}

// children are the processes below one, by their ids.
func children(pid int) []string {
	var all []string
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range tasks {
		content, _ := os.ReadFile(f)
		for child := range strings.FieldsSeq(string(content)) {
			all = append(all, child)
			if n, err := strconv.Atoi(child); err == nil {
				all = append(all, children(n)...)
			}
		}
	}
	return all
}

// nothingLeft looks for files of clusters that were for one test alone.
func nothingLeft(t *testing.T) {
	t.Helper()
	state, err := local.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "passing-*")); len(left) > 0 {
		t.Errorf("left on disk: %v", left)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
