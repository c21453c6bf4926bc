// SPDX-License-Identifier: Apache-2.0

// Package testkit starts real API servers for tests and compares golden files.
package testkit

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
)

// RequireEnv names the variable that, when "1", makes tests fail that find no control plane, instead of
// being left out: CI sets it.
const RequireEnv = "TENANTRY_REQUIRE_CONTROLPLANE"

// API is a real API server for the tests of one package.
type API struct {
	// Plane is the control plane.
	Plane *local.ControlPlane
	// Config and Client act as the cluster's admin.
	Config *rest.Config
	Client client.WithWatch
}

// Options says what a test's API server has.
type Options struct {
	local.ControlPlaneOptions
	// Flux installs Flux's CRDs.
	Flux bool
}

var api *API

// Main runs a package's tests against an API server of their own and exits.
func Main(m *testing.M, opts Options) {
	flag.Parse()
	os.Exit(run(m, opts))
}

func run(m *testing.M, opts Options) int {
	if testing.Short() && os.Getenv(RequireEnv) != "1" {
		return m.Run()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "tenantry-test-*")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	started, stop, err := start(ctx, dir, opts)
	defer stop()
	if err != nil {
		return fail(err)
	}
	api = started
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "FAIL: start an API server for the tests:", err)
	return 1
}

func start(ctx context.Context, dir string, opts Options) (*API, func(), error) {
	helpers, err := local.FindHelpers(ctx, "", Progress{})
	if err != nil {
		return nil, func() {}, err
	}
	cp, stop, err := local.StartControlPlane(ctx, dir, helpers, opts.ControlPlaneOptions)
	if err != nil {
		return nil, stop, err
	}
	a := &API{Plane: cp}
	if a.Config, err = cp.Admin(); err != nil {
		return nil, stop, err
	}
	a.Config = kube.Unthrottled(a.Config)
	a.Config.WarningHandler = rest.NoWarnings{}
	if a.Client, err = kube.NewClient(a.Config); err != nil {
		return nil, stop, err
	}
	if opts.Flux {
		if err := InstallCRDs(ctx, a.Client, filepath.Join(helpers.Path("crds"), "*.yaml")); err != nil {
			return nil, stop, err
		}
	}
	installer, err := install.New(a.Config)
	if err != nil {
		return nil, stop, err
	}
	if _, err := installer.Install(ctx, false); err != nil {
		return nil, stop, err
	}
	// The mapper of a fresh client knows the kinds just installed.
	a.Client, err = kube.NewClient(a.Config)
	return a, stop, err
}

// Get gives the package's API server. Without one, under -short, the test is left out.
func Get(t testing.TB) *API {
	t.Helper()
	if api == nil {
		t.Skip("-short: needs an API server")
	}
	return api
}

// As is a client for another identity.
func (a *API) As(t testing.TB, user string, groups ...string) client.WithWatch {
	t.Helper()
	c, err := kube.NewClient(kube.As(a.Config, user, groups...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// AsAccount is a client for a ServiceAccount.
func (a *API) AsAccount(t testing.TB, namespace, name string) client.WithWatch {
	t.Helper()
	return a.As(t, "system:serviceaccount:"+namespace+":"+name)
}

// InstallCRDs applies every CRD in files and waits until they are served.
func InstallCRDs(ctx context.Context, c client.Client, glob string) error {
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no CRDs in %s", glob)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &o.Object); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
		if err := kube.Apply(ctx, c, o); err != nil {
			return err
		}
	}
	for {
		var crds apiextensionsv1.CustomResourceDefinitionList
		if err := c.List(ctx, &crds); err != nil {
			return err
		}
		if established(crds.Items) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func established(crds []apiextensionsv1.CustomResourceDefinition) bool {
	for _, crd := range crds {
		ok := false
		for _, c := range crd.Status.Conditions {
			ok = ok || c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}
		if !ok {
			return false
		}
	}
	return true
}

// Eventually waits for a condition and fails the test with its last answer.
func Eventually(t testing.TB, within time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, within, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Reason is the reason of an API error, for tables.
func Reason(err error) metav1.StatusReason {
	if err == nil {
		return ""
	}
	type status interface{ Status() metav1.Status }
	if s, ok := err.(status); ok {
		return s.Status().Reason
	}
	return metav1.StatusReasonUnknown
}

var update = flag.Bool("update", false, "rewrite golden files")

// Golden compares what a test got with a file under testdata.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// Progress tells of builds of helpers on stderr.
type Progress struct{}

// Begin implements local.Progress.
func (Progress) Begin(what string) func(error) {
	start := time.Now()
	fmt.Fprintln(os.Stderr, what, "...")
	return func(err error) {
		if err == nil {
			fmt.Fprintf(os.Stderr, "%s: %s\n", what, time.Since(start).Round(time.Second))
		}
	}
}
