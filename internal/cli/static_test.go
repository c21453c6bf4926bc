// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestAStaticTenantStandsWithoutAController applies what export --static prints, where
// no controller runs and no Tenant is declared.
func TestAStaticTenantStandsWithoutAController(t *testing.T) {
	api := testkit.Get(t)
	kubeconfig, err := api.Plane.Kubeconfig("static", "", "static-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, "", "install", "--kubeconfig", kubeconfig); code != 0 {
		t.Fatal(stderr)
	}
	file := filepath.Join(t.TempDir(), "tenant.yaml")
	if err := os.WriteFile(file, []byte(`apiVersion: tenantry.dev/v1alpha1
kind: Tenant
metadata: {name: still}
spec:
  owners: [{kind: User, name: stella}]
  namespaces: {declared: [still-web], selfService: {limit: 3}}
  syncs: [{name: apps, source: {git: {url: "https://git.example.com/still"}}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := run(t, "", "tenant", "export", file, "--static")
	if code != 0 || !strings.Contains(stderr, "makes no namespaces there") || strings.Contains(out, v1alpha1.HashAnnotation) || strings.Contains(out, "kind: Tenant\n") {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, out)
	}
	accounts, namespaces := 0, 0
	for _, o := range decodeAll(t, out) {
		if label := o.GetLabels()[v1alpha1.FluxTenantLabel]; o.GetKind() == "ServiceAccount" && o.GetName() == "still" && label == "still" {
			accounts++
		} else if o.GetKind() == "Namespace" && label == "still" {
			namespaces++
		}
		if err := kube.Apply(t.Context(), api.Client, o); err != nil {
			t.Fatal(err)
		}
	}
	if accounts != 2 || namespaces != 2 {
		t.Errorf("%d accounts and %d namespaces are named and labelled as Flux's own, want 2 of each", accounts, namespaces)
	}
	account, owner := api.AsAccount(t, "still", "still"), api.As(t, "stella")
	about := func(namespace string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "about"}}
	}
	testkit.Eventually(t, 20*time.Second, "the bindings bite", func() error {
		if err := account.Create(t.Context(), about("still-web"), client.DryRunAll); err != nil {
			return err
		}
		return owner.Create(t.Context(), about("still-web"), client.DryRunAll)
	})
	for what, try := range map[string]func() error{
		"into another namespace": func() error { return account.Create(t.Context(), about("default")) },
		"a namespace of its own": func() error {
			return owner.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "still-more"}})
		},
		"off the tenant's own namespace": func() error {
			return owner.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "still-web"}}, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"tenantry.dev/tenant":"other"}}}`)))
		},
	} {
		if err := try(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if code, out, _ := run(t, "", "tenant", "list", "--kubeconfig", kubeconfig); code != 0 || strings.Contains(out, "still ") {
		t.Errorf("a Tenant is declared: %s", out)
	}
}

func decodeAll(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := d.Decode(o)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(fmt.Errorf("%w in %s", err, text))
		}
		all = append(all, o)
	}
}
