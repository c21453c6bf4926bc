// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/cli"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(m, testkit.Options{Flux: true, ControlPlaneOptions: local.ControlPlaneOptions{Controllers: true}})
}

// run runs the command line as a person would.
func run(t *testing.T, in string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{In: strings.NewReader(in), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

func TestUsage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tenant.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: tenantry.dev/v1alpha1\nkind: Tenant\nmetadata:\n  name: oil\nspec:\n  owner: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(other, []byte("kind: ConfigMap\napiVersion: v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no command":                    {nil, 0, ""},
		"an unknown command":            {[]string{"fly"}, 2, `unknown command "fly"`},
		"an unknown flag":               {[]string{"up", "--fast"}, 2, "unknown flag: --fast; see tenantry up --help"},
		"a missing argument":            {[]string{"tenant", "get"}, 2, "accepts 1 arg(s), received 0"},
		"an unknown output":             {[]string{"tenant", "list", "-o", "xml"}, 2, `output "xml" is not known; use json, yaml or wide`},
		"an unknown part":               {[]string{"install", "--export", "--part", "roof"}, 2, `part "roof" is not known`},
		"once and detach":               {[]string{"up", "--once", "--detach"}, 2, "give one of them"},
		"a kubeconfig that isn't there": {[]string{"tenant", "list", "--kubeconfig", "/nowhere"}, 1, "/nowhere"},
		"a file that isn't there":       {[]string{"tenant", "export", "./nowhere.yaml"}, 1, "nowhere.yaml: no such file"},
		"a field that nobody knows":     {[]string{"tenant", "export", file}, 1, `tenant.yaml:1: error unmarshaling JSON: while decoding JSON: json: unknown field "owner"`},
		"a file without a Tenant":       {[]string{"tenant", "export", other}, 1, "holds no Tenant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := run(t, "", tc.args...)
			if code != tc.code || !strings.Contains(stderr, tc.says) {
				t.Errorf("exit code %d and %q, want %d and %q", code, stderr, tc.code, tc.says)
			}
			if want := min(1, tc.code); strings.Count(stderr, "tenantry: ") != want {
				t.Errorf("%d errors in %q", want, stderr)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, out, _ := run(t, "", "version", "-o", "yaml")
	if code != 0 || !strings.Contains(out, "goVersion: go1.") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

func TestExportPrintsWhatIsCompiled(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("../compile/testdata/minimal.golden.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The golden file's comments tell of namespaces; the export holds objects alone.
	_, objects, _ := strings.Cut(string(golden), "---\n")
	code, out, stderr := run(t, "", "tenant", "export", "../compile/testdata/minimal.tenant.yaml")
	if code != 0 || out != "---\n"+objects {
		t.Errorf("exit code %d, %s\ngot:\n%s", code, stderr, out)
	}
}

func TestExampleFleetHoldsWhatInstallExports(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"walls", "grants"} {
		want, err := os.ReadFile(filepath.Join("../../examples/fleet/infrastructure/tenantry", part, part+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if _, out, _ := run(t, "", "install", "--export", "--part", part); out != string(want) {
			t.Errorf("%s.yaml is out of date: make generate", part)
		}
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, stderr := run(t, "", "completion", shell); code != 0 || !strings.Contains(out, "tenantry") {
			t.Errorf("%s: exit code %d %s", shell, code, stderr)
		}
	}
}

// TestTenantCommands runs without a controller: status is what the test writes.
func TestTenantCommands(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	kubeconfig, err := api.Plane.Kubeconfig("cli", "", "cli-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	tenantry := func(in string, args ...string) (int, string, string) {
		return run(t, in, append(args, "--kubeconfig", kubeconfig)...)
	}
	if code, _, stderr := tenantry("", "tenant", "list"); code != 0 || stderr != "No tenants.\n" {
		t.Errorf("list of none: exit code %d %q", code, stderr)
	}
	for _, name := range []string{"oil", "gas"} {
		tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
		tn.Spec.Owners = []v1alpha1.Owner{{Kind: v1alpha1.OwnerGroup, Name: name + "-team"}}
		if err := api.Client.Create(ctx, tn); err != nil {
			t.Fatal(err)
		}
		tn.Status = v1alpha1.TenantStatus{
			Owners: name + "-team", NamespaceCount: 1,
			Namespaces: []v1alpha1.NamespaceStatus{{Name: name, Origin: v1alpha1.OriginHome, State: v1alpha1.NamespaceActive}},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Reconciled", Message: "1 namespace, every wall stands", LastTransitionTime: metav1.Now()}},
		}
		if err := api.Client.Status().Update(ctx, tn); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"list":             {[]string{"tenant", "list"}, 0, "gas       True      1            gas-team"},
		"list wide":        {[]string{"tenant", "list", "-o", "wide"}, 0, "1 namespace, every wall stands"},
		"list as JSON":     {[]string{"tenant", "list", "-o", "json"}, 0, `"kind": "TenantList"`},
		"get":              {[]string{"tenant", "get", "oil"}, 0, "oil       True"},
		"get as YAML":      {[]string{"tenant", "get", "oil", "-o", "yaml"}, 0, "kind: Tenant\n"},
		"get nobody":       {[]string{"tenant", "get", "coal"}, 1, "there is no tenant coal"},
		"describe":         {[]string{"tenant", "describe", "oil"}, 0, "oil         Home      Active"},
		"describe nobody":  {[]string{"tenant", "describe", "coal"}, 1, "there is no tenant coal"},
		"export":           {[]string{"tenant", "export", "oil"}, 0, "kind: RoleBinding"},
		"delete, dry run":  {[]string{"tenant", "delete", "gas", "--dry-run"}, 0, "Tenant gas goes, with these namespaces and all that is in them: gas"},
		"delete, unasked":  {[]string{"tenant", "delete", "gas"}, 1, "nobody answered; give --yes"},
		"delete nobody":    {[]string{"tenant", "delete", "coal", "--yes"}, 1, "there is no tenant coal"},
		"install, dry run": {[]string{"install", "--dry-run"}, 0, "would be applied"},
		"an unknown rule":  {[]string{"install", "--audit", "services/nothing"}, 1, "there is no rule services/nothing"},
		"a firm rule":      {[]string{"install", "--audit", "namespaces/own"}, 1, "keeps tenants apart and always denies"},
		"uninstall":        {[]string{"uninstall"}, 1, "tenants exist: gas, oil; delete them first"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := tenantry("", tc.args...)
			if code != tc.code || !strings.Contains(out+stderr, tc.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", code, tc.code, tc.says, out, stderr)
			}
		})
	}
	if code, _, stderr := tenantry("gaz\n", "tenant", "delete", "gas"); code != 1 || !strings.Contains(stderr, "another name; nothing was deleted") {
		t.Errorf("a wrong answer: exit code %d %s", code, stderr)
	}
	if code, _, stderr := tenantry("gas\n", "tenant", "delete", "gas"); code != 0 {
		t.Errorf("the right answer: exit code %d %s", code, stderr)
	}

	t.Run("watch", func(t *testing.T) {
		watching, stop := context.WithCancel(ctx)
		out := &syncBuffer{}
		ended := make(chan int)
		go func() {
			ended <- cli.Run(watching, []string{"tenant", "list", "--watch", "--kubeconfig", kubeconfig}, cli.Streams{In: strings.NewReader(""), Out: out, Err: out})
		}()
		testkit.Eventually(t, 10*time.Second, "the table", func() error { return out.has("oil ") })
		if err := api.Client.Patch(ctx, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "oil"}}, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"cordoned":true}}`))); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 10*time.Second, "the change", func() error {
			if strings.Count(out.String(), "oil ") < 2 {
				return fmt.Errorf("only %q", out.String())
			}
			return nil
		})
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d:\n%s", code, out.String())
		}
	})

	// Nothing of ours is left, and nothing is left to remove.
	if code, out, stderr := tenantry("", "uninstall", "--with-tenants"); code != 0 || !strings.Contains(out, "ValidatingAdmissionPolicy tenantry-namespaces removed") {
		t.Errorf("uninstall: exit code %d\n%s%s", code, out, stderr)
	}
	testkit.Eventually(t, 20*time.Second, "a second uninstall finds nothing", func() error {
		if code, out, stderr := tenantry("", "uninstall"); code != 0 || out != "" {
			return fmt.Errorf("exit code %d\n%s%s", code, out, stderr)
		}
		return nil
	})
	if code, _, stderr := tenantry("", "tenant", "list"); code != 1 || !strings.Contains(stderr, "install it with `tenantry install`") {
		t.Errorf("list without the API: exit code %d %s", code, stderr)
	}
	if code, _, stderr := tenantry("", "install"); code != 0 {
		t.Errorf("install again: exit code %d\n%s", code, stderr)
	}
	t.Run("audited rules let through, and the next install denies again", func(t *testing.T) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "audited", Labels: map[string]string{v1alpha1.TenantLabel: "audited"}}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "audited", Name: "user"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "user"}},
		}
		stray := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "tenantry-of-yesterday", Labels: policy.Labels()}}
		stray.Spec.PolicyName, stray.Spec.ValidationActions = "tenantry-services", []admissionv1.ValidationAction{admissionv1.Deny}
		for _, o := range []client.Object{ns, binding, stray} {
			if err := api.Client.Create(ctx, o); err != nil {
				t.Fatal(err)
			}
		}
		user := api.As(t, "user")
		try := func() error {
			return user.Create(ctx, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "audited", Name: "web"},
				Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
			}, client.DryRunAll)
		}
		if code, _, stderr := tenantry("", "install", "--audit", "services/type,services/external-ips"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		testkit.Eventually(t, 10*time.Second, "the rule only warns, and yesterday's binding is gone", try)
		if code, _, stderr := tenantry("", "install"); code != 0 {
			t.Fatalf("exit code %d\n%s", code, stderr)
		}
		if err := try(); err == nil || !strings.Contains(err.Error(), "[services/type]") {
			t.Errorf("installed without --audit: %v", err)
		}
	})
}
