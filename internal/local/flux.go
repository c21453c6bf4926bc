// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
)

// FluxNamespace is where Flux lives.
const FluxNamespace = "flux-system"

// fluxManifests are Flux's namespace, accounts and rights.
//
//go:embed flux.yaml
var fluxManifests []byte

// systemRoots are the places where certificates of public authorities are kept.
var systemRoots = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
}

// installFlux applies Flux's CRDs and accounts.
func installFlux(ctx context.Context, c client.Client, helpers Helpers) error {
	files, err := filepath.Glob(filepath.Join(helpers.Dir, "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no Flux CRDs in %s: remove that directory and start again", helpers.Dir)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := applyAll(ctx, c, content); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(f), err)
		}
	}
	return applyAll(ctx, c, fluxManifests)
}

// applyAll applies every document of a YAML file.
func applyAll(ctx context.Context, c client.Client, content []byte) error {
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := d.Decode(o)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(o.Object) == 0 {
			continue
		}
		if err := kube.Apply(ctx, c, o); err != nil {
			return err
		}
	}
}

// fluxController is one of Flux's controllers with the lockdown that it knows.
type fluxController struct {
	name string
	args []string
}

// startFlux runs Flux's controllers under full lockdown.
func (cp *ControlPlane) startFlux(proxy *gitServer) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	storage, events, receiver := ports[0], ports[1], ports[2]
	if err := os.MkdirAll(cp.path("artifacts"), 0o700); err != nil {
		return err
	}
	// A dependency that is not ready is looked at again soon: this is somebody's laptop.
	const soon = "--requeue-dependency=1s"
	for _, c := range []fluxController{
		{"source-controller", []string{
			"--storage-path=" + cp.path("artifacts"),
			fmt.Sprintf("--storage-addr=127.0.0.1:%d", storage), fmt.Sprintf("--storage-adv-addr=127.0.0.1:%d", storage), soon,
			fmt.Sprintf("--events-addr=http://127.0.0.1:%d/", events),
		}},
		{"kustomize-controller", []string{
			"--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=default", soon,
			fmt.Sprintf("--events-addr=http://127.0.0.1:%d/", events),
		}},
		{"helm-controller", []string{
			"--no-cross-namespace-refs=true", "--default-service-account=default", soon,
			fmt.Sprintf("--events-addr=http://127.0.0.1:%d/", events),
		}},
		{"notification-controller", []string{
			"--no-cross-namespace-refs=true",
			fmt.Sprintf("--events-addr=127.0.0.1:%d", events), fmt.Sprintf("--receiverAddr=127.0.0.1:%d", receiver),
		}},
	} {
		if err := cp.startFluxController(c, proxy); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) startFluxController(c fluxController, proxy *gitServer) error {
	kubeconfig, err := cp.accountKubeconfig(FluxNamespace, c.name)
	if err != nil {
		return err
	}
	roots, err := cp.trustBundle()
	if err != nil {
		return err
	}
	tmp := cp.path("tmp", c.name)
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return err
	}
	return cp.sup.start(processSpec{
		name: c.name, path: cp.helpers.Path(c.name), grace: 3 * time.Second,
		args: append(c.args, "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0",
			"--enable-leader-election=false", "--log-encoding=json", "--watch-all-namespaces=true",
			"--min-retry-delay=500ms", "--max-retry-delay=30s"),
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp,
			"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + FluxNamespace,
			"HTTPS_PROXY=" + proxy.URL(), "HTTP_PROXY=" + proxy.URL(), "NO_PROXY=127.0.0.1,localhost",
			"SSL_CERT_FILE=" + roots,
		},
	})
}

// trustBundle is the system's authorities and this run's.
func (cp *ControlPlane) trustBundle() (string, error) {
	bundle := append([]byte{}, cp.ca.pem...)
	for _, f := range systemRoots {
		if content, err := os.ReadFile(f); err == nil {
			bundle = append(append(bundle, '\n'), content...)
			break
		}
	}
	path := cp.path("pki", "trust.crt")
	return path, writeFile(path, bundle)
}
