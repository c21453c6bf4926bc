// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/testkit"
)

// TestImportFromACluster reads Capsule's Tenants, and the namespaces that they have, from
// an API server that serves nothing else of Capsule.
func TestImportFromACluster(t *testing.T) {
	api := testkit.Get(t)
	keep := true
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "tenants.capsule.clastix.io"}}
	crd.Spec = apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "capsule.clastix.io", Scope: apiextensionsv1.ClusterScoped,
		Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "tenants", Singular: "tenant", Kind: "Tenant", ListKind: "TenantList"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
			Name: "v1beta2", Served: true, Storage: true,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
		}},
	}
	capsule := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "capsule.clastix.io/v1beta2", "kind": "Tenant", "metadata": map[string]any{"name": "grove"},
		"spec": map[string]any{"owners": []any{map[string]any{"kind": "Group", "name": "growers"}}, "namespaceOptions": map[string]any{"quota": int64(3)}},
	}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "thicket", Labels: map[string]string{"capsule.clastix.io/tenant": "grove"}}}
	for _, o := range []client.Object{crd, namespace} {
		if err := api.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, 20*time.Second, "the kind is served", func() error { return api.Client.Create(t.Context(), capsule.DeepCopy()) })
	kubeconfig, err := api.Plane.Kubeconfig("import", "", "import-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "fleet")
	if code, _, stderr := run(t, "", "init", dir); code != 0 {
		t.Fatal(stderr)
	}
	code, out, stderr := run(t, "", "import", "capsule", "--live", "--fleet", dir, "--env", "staging", "--kubeconfig", kubeconfig)
	if code != 0 || !strings.Contains(out, "kubectl label namespace thicket tenantry.dev/tenant=grove") {
		t.Fatalf("exit code %d: %s\n%s", code, stderr, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "tenants/base/grove/tenant.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"name: growers", "limit: 3", "- thicket"} {
		if !strings.Contains(string(content), want) {
			t.Errorf("%q is not in\n%s", want, content)
		}
	}
}
