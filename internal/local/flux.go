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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/world"
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

// fluxController is one of Flux's controllers with its arguments.
type fluxController struct {
	name string
	args []string
}

// lockdown are the arguments that keep Flux's controllers to what tenants may.
var lockdown = map[string][]string{
	"kustomize-controller":    {"--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=default"},
	"helm-controller":         {"--no-cross-namespace-refs=true", "--default-service-account=default"},
	"notification-controller": {"--no-cross-namespace-refs=true"},
}

// startFlux runs Flux's controllers, by default under full lockdown.
func (cp *ControlPlane) startFlux(w *world.World, args map[string][]string) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	storage, events, receiver := ports[0], ports[1], ports[2]
	if err := os.MkdirAll(cp.path("artifacts"), 0o700); err != nil {
		return err
	}
	// A dependency that is not ready is looked at again soon: this is somebody's laptop.
	const soon = "--requeue-dependency=250ms"
	for _, c := range []fluxController{
		{"source-controller", []string{
			"--storage-path=" + cp.path("artifacts"),
			fmt.Sprintf("--storage-addr=127.0.0.1:%d", storage), fmt.Sprintf("--storage-adv-addr=127.0.0.1:%d", storage), soon,
			// One that never answers holds a worker for its whole timeout.
			"--concurrent=20",
			fmt.Sprintf("--events-addr=http://127.0.0.1:%d/", events),
		}},
		{"kustomize-controller", []string{
			soon, "--concurrent=10", fmt.Sprintf("--events-addr=http://127.0.0.1:%d/", events),
		}},
		{"helm-controller", []string{
			soon, "--concurrent=10", fmt.Sprintf("--events-addr=http://127.0.0.1:%d/", events),
		}},
		{"notification-controller", []string{
			fmt.Sprintf("--events-addr=127.0.0.1:%d", events), fmt.Sprintf("--receiverAddr=127.0.0.1:%d", receiver),
		}},
	} {
		more, given := args[c.name]
		if !given {
			more = lockdown[c.name]
		}
		c.args = append(c.args, more...)
		if err := cp.startFluxController(c, w); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) startFluxController(c fluxController, w *world.World) error {
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
		name: c.name, path: cp.helpers.Path(c.name),
		args: append(c.args, "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0",
			"--enable-leader-election=false", "--log-encoding=json", "--watch-all-namespaces=true",
			"--kube-api-qps=1000", "--kube-api-burst=2000", "--min-retry-delay=500ms", "--max-retry-delay=30s"),
		env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp,
			"KUBECONFIG=" + kubeconfig, "RUNTIME_NAMESPACE=" + FluxNamespace,
			"HTTPS_PROXY=" + w.HTTPProxy(), "HTTP_PROXY=" + w.HTTPProxy(), "ALL_PROXY=" + w.SOCKSProxy(), "NO_PROXY=127.0.0.1,localhost",
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
