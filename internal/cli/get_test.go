// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/cli"
	"github.com/tenantry/tenantry/internal/testkit"
)

// stageTenant makes a tenant with a sync, as a controller and Flux would have left it.
func stageTenant(t *testing.T, api *testkit.API, name string) {
	t.Helper()
	ctx := t.Context()
	condition := []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", Message: "all is well", LastTransitionTime: metav1.Now(), ObservedGeneration: 1}}
	tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	labels := map[string]string{v1alpha1.TenantLabel: name, v1alpha1.ManagedLabel: name}
	meta := metav1.ObjectMeta{Namespace: name, Name: "apps", Labels: labels}
	repo := &sourcev1.GitRepository{ObjectMeta: meta, Spec: sourcev1.GitRepositorySpec{URL: "https://git.example.com/" + name}}
	ks := &kustomizev1.Kustomization{ObjectMeta: meta, Spec: kustomizev1.KustomizationSpec{
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "apps"}, Path: "./staging", ServiceAccountName: name,
		Interval: metav1.Duration{Duration: time.Minute},
	}}
	for _, o := range []client.Object{tn, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.TenantLabel: name}}}, repo, ks} {
		if err := api.Client.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.Client.Delete(context.Background(), o) })
	}
	tn.Status = v1alpha1.TenantStatus{Owners: name + "-team", Conditions: condition, Namespaces: []v1alpha1.NamespaceStatus{{Name: name, Origin: v1alpha1.OriginHome, State: v1alpha1.NamespaceActive}}}
	repo.Status = sourcev1.GitRepositoryStatus{Conditions: condition}
	ks.Status = kustomizev1.KustomizationStatus{
		Conditions: condition, LastAppliedRevision: "main@sha1:0123456789abcdef",
		Inventory: &kustomizev1.ResourceInventory{Entries: []kustomizev1.ResourceRef{{ID: name + "_web_apps_Deployment", Version: "v1"}}},
	}
	for _, o := range []client.Object{tn, repo, ks} {
		if err := api.Client.Status().Update(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// twoContexts is a kubeconfig with the test's API server and one that takes
// connections and never answers.
func twoContexts(t *testing.T, api *testkit.API) string {
	t.Helper()
	path, err := api.Plane.Kubeconfig("get", "", "get-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	here := cfg.Contexts[cfg.CurrentContext]
	cfg.Contexts = map[string]*clientcmdapi.Context{"here": here, "silent": {Cluster: "silent", AuthInfo: here.AuthInfo}}
	cfg.Clusters["silent"] = &clientcmdapi.Cluster{Server: "https://" + silent.Addr().String()}
	cfg.CurrentContext = "here"
	both := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, both); err != nil {
		t.Fatal(err)
	}
	return both
}

func TestGetOverClusters(t *testing.T) {
	api := testkit.Get(t)
	stageTenant(t, api, "seen")
	kubeconfig := twoContexts(t, api)
	for name, tc := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"tenants":                 {[]string{"get", "tenants", "seen"}, 0, []string{"TENANT", "seen      True", "seen-team"}},
		"syncs of all":            {[]string{"get", "syncs", "-A"}, 0, []string{"Kustomization/seen/apps", "main@sha1:01234567"}},
		"syncs of a namespace":    {[]string{"get", "ks", "-n", "seen", "-o", "wide"}, 0, []string{"GitRepository/apps ./staging"}},
		"sources":                 {[]string{"get", "sources", "--tenant", "seen", "-o", "wide"}, 0, []string{"GitRepository/seen/apps", "https://git.example.com/seen"}},
		"namespaces":              {[]string{"get", "ns", "--tenant", "seen"}, 0, []string{"seen      seen        Home      Active"}},
		"all":                     {[]string{"get", "all", "--tenant", "seen"}, 0, []string{"NAMESPACE", "SOURCE", "SYNC"}},
		"nothing":                 {[]string{"get", "syncs", "--tenant", "nobody"}, 0, []string{"Nothing found."}},
		"one that doesn't answer": {[]string{"get", "tenants", "--contexts", "here,silent", "--cluster-timeout", "1s"}, 1, []string{"here      seen", "silent   does not answer: no answer within 1s"}},
		"an unknown context":      {[]string{"get", "tenants", "--contexts", "here,moon"}, 2, []string{"no context moon; it has here, silent"}},
		"an unknown kind":         {[]string{"get", "pods"}, 2, []string{`"pods" is not known; get tenants, syncs, sources, namespaces or all`}},
		"-A and -n":               {[]string{"get", "syncs", "-A", "-n", "x"}, 2, []string{"give one of them"}},
		"tree":                    {[]string{"tenant", "tree", "seen"}, 0, []string{"Tenant seen\n└── here: Ready\n", "    └── Kustomization seen/apps: Ready main@sha1:01234567\n        └── Deployment seen/web\n"}},
		"tree of nobody":          {[]string{"tenant", "tree", "nobody"}, 1, []string{"there is no tenant nobody on here"}},
		"events of nobody":        {[]string{"tenant", "events", "nobody"}, 1, []string{"there is no tenant nobody"}},
		"suspend nobody":          {[]string{"suspend", "nobody"}, 1, []string{"here   it has no tenant nobody"}},
		"suspend no sync":         {[]string{"suspend", "seen/nothing"}, 1, []string{"tenant seen has no sync nothing there"}},
		"suspend half a name":     {[]string{"suspend", "seen/"}, 2, []string{"want TENANT or TENANT/SYNC"}},
		"reconcile without Flux":  {[]string{"reconcile", "seen", "--cluster-timeout", "1s"}, 1, []string{"seen/apps: not done yet: Flux goes on"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := run(t, "", append(tc.args, "--kubeconfig", kubeconfig)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, says := range tc.says {
				if !strings.Contains(out+stderr, says) {
					t.Errorf("%q is not in\n%s%s", says, out, stderr)
				}
			}
		})
	}

	t.Run("for programs", func(t *testing.T) {
		_, out, _ := run(t, "", "get", "all", "--tenant", "seen", "-o", "json", "--kubeconfig", kubeconfig)
		var got struct {
			Clusters []struct{ Cluster, Error string }
			Rows     []struct{ Kind, Name string }
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Rows) != 4 || got.Clusters[0].Cluster != "here" {
			t.Errorf("%v in %s", err, out)
		}
	})

	t.Run("suspend and resume", func(t *testing.T) {
		for _, step := range []struct {
			verb, says string
			suspended  bool
		}{
			{"suspend", "seen/apps: suspended", true}, {"suspend", "seen/apps: already suspended", true},
			{"reconcile", "it is suspended: resume it first", true},
			{"resume", "seen/apps: resumed", false}, {"resume", "already resumed", false},
		} {
			_, out, stderr := run(t, "", step.verb, "seen/apps", "--kubeconfig", kubeconfig)
			ks := &kustomizev1.Kustomization{}
			if err := api.Client.Get(t.Context(), client.ObjectKey{Namespace: "seen", Name: "apps"}, ks); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out, step.says) || ks.Spec.Suspend != step.suspended {
				t.Errorf("%s: suspended is %t, and it says %s%s", step.verb, ks.Spec.Suspend, out, stderr)
			}
		}
	})

	t.Run("a tenant sees its own namespace", func(t *testing.T) {
		who := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "seen", Name: "reader"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "tenantry:view"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
		}
		if err := api.Client.Create(t.Context(), who); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 10*time.Second, "the binding bites", func() error {
			code, out, stderr := run(t, "", "get", "syncs", "-n", "seen", "--as", "reader", "--kubeconfig", kubeconfig)
			if code != 0 || !strings.Contains(out, "Kustomization/seen/apps") {
				return fmt.Errorf("exit code %d: %s%s", code, out, stderr)
			}
			return nil
		})
		if code, out, _ := run(t, "", "get", "tenants", "--as", "reader", "--contexts", "here", "--kubeconfig", kubeconfig); code != 1 || !strings.Contains(out, "forbidden") {
			t.Errorf("all tenants of a context: exit code %d: %s", code, out)
		}
		if code, out, _ := run(t, "", "get", "tenants", "--as", "reader", "--kubeconfig", kubeconfig); code != 1 || !strings.Contains(out, "forbidden") {
			t.Errorf("all tenants: exit code %d: %s", code, out)
		}
	})

	t.Run("watch", func(t *testing.T) {
		watching, stop := context.WithCancel(t.Context())
		out := &syncBuffer{}
		ended := make(chan int)
		go func() {
			ended <- cli.Run(watching, []string{"get", "syncs", "--tenant", "seen", "-w", "--kubeconfig", kubeconfig}, cli.Streams{In: strings.NewReader(""), Out: out, Err: out})
		}()
		testkit.Eventually(t, 10*time.Second, "the table", func() error { return out.has("seen/apps") })
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"lastAppliedRevision":"main@sha1:fedcba9876543210"}}`))
		ks := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "seen", Name: "apps"}}
		if err := api.Client.Status().Patch(t.Context(), ks, patch); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 15*time.Second, "the change", func() error { return out.has("main@sha1:fedcba98") })
		if err := api.Client.Delete(t.Context(), ks); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, 15*time.Second, "the end", func() error { return out.has("gone") })
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d:\n%s", code, out.String())
		}
	})
}

// TestReconcile stands in for Flux, which is not here: it answers the request on the
// source first.
func TestReconcile(t *testing.T) {
	api := testkit.Get(t)
	stageTenant(t, api, "asked")
	kubeconfig := twoContexts(t, api)
	answered := make(chan error, 1)
	go func() {
		answered <- func() error {
			for _, o := range []client.Object{&sourcev1.GitRepository{}, &kustomizev1.Kustomization{}} {
				token := ""
				for token == "" {
					if err := api.Client.Get(t.Context(), client.ObjectKey{Namespace: "asked", Name: "apps"}, o); err != nil {
						return err
					}
					token = o.GetAnnotations()[fluxmeta.ReconcileRequestAnnotation]
				}
				patch := fmt.Sprintf(`{"status":{"lastHandledReconcileAt":%q}}`, token)
				if err := api.Client.Status().Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	code, out, stderr := run(t, "", "reconcile", "asked/apps", "--kubeconfig", kubeconfig)
	if err := errors.Join(<-answered); err != nil || code != 0 || !strings.Contains(out, "asked/apps: applied main@sha1:01234567") {
		t.Errorf("%v, exit code %d: %s%s", err, code, out, stderr)
	}
}

// TestWithoutGitOps creates, changes and deletes a tenant on the cluster.
func TestWithoutGitOps(t *testing.T) {
	api := testkit.Get(t)
	kubeconfig := twoContexts(t, api)
	tenantry := func(args ...string) (int, string) {
		code, out, stderr := run(t, "", append(args, "--kubeconfig", kubeconfig)...)
		return code, out + stderr
	}
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"tenant", "create", "live", "--apply", "--owner-group", "x", "--dry-run"}, 0, "Tenant live would be created"},
		{[]string{"tenant", "create", "kube-live", "--apply"}, 1, "this name is the system's"},
		{[]string{"tenant", "create", "live", "--apply", "--owner-group", "x", "--git", "https://git.example.com/x", "--timeout", "1s"}, 1, "no controller has looked at it"},
		{[]string{"tenant", "create", "live", "--apply"}, 1, "the cluster has a tenant live"},
		{[]string{"tenant", "owner", "add", "live", "--apply", "--user", "y", "--role", "view"}, 0, "Tenant live changed"},
		{[]string{"tenant", "owner", "remove", "live", "--apply", "--user", "z"}, 1, "tenant live has no owner User z"},
		{[]string{"tenant", "namespace", "add", "live", "live-web", "--apply"}, 0, "Tenant live changed"},
		{[]string{"tenant", "namespace", "add", "live", "kube-system", "--apply"}, 1, "kube-*"},
		{[]string{"tenant", "namespace", "add", "nobody", "x", "--apply"}, 1, "there is no tenant nobody"},
	} {
		if code, says := tenantry(step.args...); code != step.code || !strings.Contains(says, step.says) {
			t.Errorf("%s: exit code %d: %s", strings.Join(step.args, " "), code, says)
		}
	}
	got := &v1alpha1.Tenant{}
	if err := api.Client.Get(t.Context(), client.ObjectKey{Name: "live"}, got); err != nil {
		t.Fatal(err)
	}
	if len(got.Spec.Owners) != 2 || got.Spec.Namespaces.Declared[0] != "live-web" || got.Spec.Syncs[0].Path != "./" {
		t.Errorf("it is %+v", got.Spec)
	}
	if code, says := tenantry("tenant", "delete", "live", "--yes"); code != 0 {
		t.Errorf("delete: exit code %d: %s", code, says)
	}
}
