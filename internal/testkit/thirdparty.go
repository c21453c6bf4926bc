// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// thirdParty are modules that ship the CRDs of software which walls are for and
// which the local cluster doesn't run.
var thirdParty = []struct{ module, glob string }{
	{"sigs.k8s.io/gateway-api@v1.6.3", "config/crd/standard/*_[a-u]*.yaml"},
	{"github.com/external-secrets/external-secrets@v1.3.2", "config/crds/bases/external-secrets.io_*.yaml"},
	{"github.com/kubernetes-csi/external-snapshotter/client/v8@v8.7.0", "config/crd/snapshot.storage.k8s.io_*.yaml"},
}

// InstallThirdPartyCRDs puts the CRDs of Gateway API, External Secrets and volume
// snapshots onto the test's API server, and those in further directories.
func InstallThirdPartyCRDs(t testing.TB, a *API, dirs ...string) {
	t.Helper()
	var globs []string
	for _, m := range thirdParty {
		dir, err := moduleDir(t.Context(), m.module)
		if err != nil {
			t.Fatal(err)
		}
		globs = append(globs, filepath.Join(dir, filepath.FromSlash(m.glob)))
	}
	for _, d := range dirs {
		globs = append(globs, filepath.Join(d, "*.yaml"))
	}
	for _, g := range globs {
		if err := InstallCRDs(t.Context(), a.Client, g); err != nil {
			t.Fatal(err)
		}
	}
	// As later versions of External Secrets have it.
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "pushsecrets.external-secrets.io"}}
	later := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/dataTo","value":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]`
	if err := a.Client.Patch(t.Context(), crd, client.RawPatch(types.JSONPatchType, []byte(later))); err != nil {
		t.Fatal(err)
	}
}

// moduleDir is where the module proxy's copy of a module lies.
func moduleDir(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module).Output()
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	if m.Error != "" {
		return "", fmt.Errorf("go mod download %s: %s", module, m.Error)
	}
	return m.Dir, nil
}
