// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenantry/tenantry/internal/trial"
	"github.com/tenantry/tenantry/internal/world"
)

// internet has the program find an outside: a world of its own, behind a proxy, whose
// authority it trusts. The result ends it.
func internet(t *testing.T, mappings ...world.Mapping) (stop func()) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the internet"}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	w, err := world.Start(t.Context(), world.Options{
		Dir: t.TempDir(), Mappings: mappings, Log: t.Output(),
		Certificate: func(host string) (*tls.Certificate, error) {
			leaf := &x509.Certificate{
				SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
				NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			}
			der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), key)
			return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HTTPS_PROXY", w.HTTPProxy())
	t.Setenv("SSL_CERT_FILE", file)
	t.Setenv("GIT_SSL_CAINFO", file)
	return w.Stop
}

// What a run fetched from its real place serves a later one that has no network, and holds
// no credentials.
func TestRecordedRuns(t *testing.T) {
	dir := stories(t)
	// The fleet itself and the tenant behind SSH are at hand; the rest is outside.
	write(t, filepath.Join(dir, "fleet/tenantry.yaml"), `apiVersion: tenantry.dev/v1alpha1
kind: Fleet
local:
  repositories:
    - {url: "ssh://git@git.example.com/wood/apps", dir: ../wood}
`)
	write(t, filepath.Join(dir, "fleet/tenants/fine/tin.yaml"), strings.ReplaceAll(read(t, filepath.Join(dir, "fleet/tenants/lab/iron.yaml")), "iron", "tin"))
	replace(t, filepath.Join(dir, "fleet/tenants/fine/kustomization.yaml"), "wood.yaml, ", "wood.yaml, tin.yaml, ")
	write(t, filepath.Join(dir, "tin/apps.yaml"), "apiVersion: v1\nkind: Namespace\nmetadata: {name: tin-web}\n")
	replace(t, filepath.Join(dir, "fleet/tenants/fine/coal.yaml"), "          secretRef: {name: bucket-key}\n", "")
	replace(t, filepath.Join(dir, "fleet/tenants/fine/tin.yaml"), "# More than its quota, and more than any node has.\n", "")
	stop := internet(
		t,
		world.Mapping{URL: "https://charts.example.com/stable", Dir: filepath.Join(dir, "charts")},
		world.Mapping{URL: "oci://registry.example.com/salt/apps", Dir: filepath.Join(dir, "salt")},
		world.Mapping{URL: "oci://registry.example.com/charts/greeter", Dir: filepath.Join(dir, "charts/greeter"), Tag: "0.1.0"},
		world.Mapping{URL: "https://s3.example.com/coal", Dir: filepath.Join(dir, "coal")},
		world.Mapping{URL: "https://git.example.com/tin/apps", Dir: filepath.Join(dir, "tin")},
	)
	defer stop()
	tape := filepath.Join(t.TempDir(), "tape")
	test := func(more ...string) trial.Run {
		t.Helper()
		r := tenantry(t, append([]string{"test", filepath.Join(dir, "fleet"), "--cluster", "fine", "--attacks", "none", "--decryption-key", filepath.Join(dir, "age.key"), "-o", "json"}, more...)...)
		var got trial.Run
		if r.out != "" {
			decode(t, r.out, &got)
		}
		if r.code != 0 {
			t.Fatalf("exit code %d\n%s\n%s", r.code, r.out, r.err)
		}
		return got
	}
	test("--network", "--record", tape)
	if err := filepath.WalkDir(tape, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".json") && strings.Contains(strings.ToLower(read(t, path)), "authorization") {
			t.Errorf("%s holds credentials", path)
		}
		if strings.HasPrefix(e.Name(), "tmp-") {
			t.Errorf("%s was left", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	stop()
	// A recording lets everybody in: for credentials that are in no repository others stand in.
	replace(t, filepath.Join(dir, "fleet/tenants/fine/tin.yaml"), "apps\"}}", "apps\", secretRef: {name: token}}}")
	got := test("--recorded", tape)
	if n := len(got.Clusters[0].Unmapped); n > 0 {
		t.Errorf("%d places were asked for and not served: %v", n, got.Clusters[0].Unmapped)
	}
}
