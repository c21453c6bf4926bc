// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"
)

const (
	// serviceRange is never routed; Services need addresses all the same.
	serviceRange = "10.96.0.0/16"
	// readyTimeout is how long the API server may take. It takes about 4 s.
	readyTimeout = 90 * time.Second
)

// ControlPlane is a running Kubernetes control plane.
type ControlPlane struct {
	dir     string
	helpers Helpers
	sup     *supervisor
	ca      *authority
	url     string
}

// ControlPlaneOptions says which parts run beside etcd and kube-apiserver.
type ControlPlaneOptions struct {
	// Controllers runs kube-controller-manager.
	Controllers bool
	// Nodes runs kube-scheduler and kwok with one node, so that Pods become Ready.
	Nodes bool
	// FeatureGates of kube-apiserver, as its flag has them, for tests of what is off by
	// default.
	FeatureGates string
	// NoWebhooks has the API server ask no admission webhook: the operators that would
	// answer are not run.
	NoWebhooks bool
}

// startControlPlane starts the parts and returns once the API server is ready.
func startControlPlane(ctx context.Context, dir string, helpers Helpers, sup *supervisor, opts ControlPlaneOptions) (*ControlPlane, error) {
	ca, err := newAuthority(filepath.Join(dir, "pki"))
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	cp := &ControlPlane{dir: dir, helpers: helpers, sup: sup, ca: ca}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	cp.url = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	if err := cp.startEtcd(ports[0], ports[1]); err != nil {
		return nil, err
	}
	if err := cp.startAPIServer(ports[0], ports[2], opts); err != nil {
		return nil, err
	}
	if _, err := cp.Kubeconfig("admin", "", "tenantry:local-admin", "system:masters"); err != nil {
		return nil, err
	}
	if err := cp.waitReady(ctx); err != nil {
		return nil, err
	}
	if opts.Controllers {
		if err := cp.startControllerManager(); err != nil {
			return nil, err
		}
	}
	if opts.Nodes {
		if err := cp.startNodes(ctx); err != nil {
			return nil, err
		}
	}
	return cp, nil
}

func (cp *ControlPlane) path(elem ...string) string {
	return filepath.Join(append([]string{cp.dir}, elem...)...)
}

func (cp *ControlPlane) startEtcd(client, peer int) error {
	serving, err := cp.ca.server("etcd", "127.0.0.1")
	if err != nil {
		return err
	}
	clientURL := fmt.Sprintf("https://127.0.0.1:%d", client)
	peerURL := fmt.Sprintf("https://127.0.0.1:%d", peer)
	return cp.sup.start(processSpec{
		name: "etcd", path: cp.helpers.Path("controlplane"), env: os.Environ(),
		args: []string{
			"etcd", "--name=local", "--data-dir=" + cp.path("etcd"),
			"--listen-client-urls=" + clientURL, "--advertise-client-urls=" + clientURL,
			"--listen-peer-urls=" + peerURL, "--initial-advertise-peer-urls=" + peerURL,
			"--initial-cluster=local=" + peerURL,
			"--client-cert-auth", "--trusted-ca-file=" + cp.ca.file(), "--cert-file=" + serving.certFile, "--key-file=" + serving.keyFile,
			"--peer-client-cert-auth", "--peer-trusted-ca-file=" + cp.ca.file(), "--peer-cert-file=" + serving.certFile, "--peer-key-file=" + serving.keyFile,
			// The data is thrown away with the run.
			"--unsafe-no-fsync", "--log-level=warn",
		},
	})
}

func (cp *ControlPlane) startAPIServer(etcdPort, port int, opts ControlPlaneOptions) error {
	serving, err := cp.ca.server("apiserver", "127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	etcdClient, err := cp.ca.client("apiserver-etcd", "kube-apiserver")
	if err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	pem, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(cp.path("pki", "service-accounts.key"), pem, 0o600); err != nil {
		return err
	}
	var webhooks []string
	if opts.NoWebhooks {
		webhooks = []string{"--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook"}
	}
	return cp.sup.start(processSpec{
		name: "kube-apiserver", path: cp.helpers.Path("controlplane"), env: os.Environ(),
		args: append([]string{
			"kube-apiserver",
			"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
			"--endpoint-reconciler-type=none",
			fmt.Sprintf("--etcd-servers=https://127.0.0.1:%d", etcdPort),
			"--etcd-cafile=" + cp.ca.file(), "--etcd-certfile=" + etcdClient.certFile, "--etcd-keyfile=" + etcdClient.keyFile,
			"--tls-cert-file=" + serving.certFile, "--tls-private-key-file=" + serving.keyFile,
			"--client-ca-file=" + cp.ca.file(), "--anonymous-auth=false", "--authorization-mode=RBAC",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + cp.path("pki", "service-accounts.key"),
			"--service-account-signing-key-file=" + cp.path("pki", "service-accounts.key"),
			"--service-cluster-ip-range=" + serviceRange, "--allow-privileged=true", "--profiling=false",
			"--feature-gates=" + opts.FeatureGates,
		}, webhooks...),
	})
}

// waitReady waits for the API server, or for a process to die.
func (cp *ControlPlane) waitReady(ctx context.Context) error {
	cfg, err := cp.Admin()
	if err != nil {
		return err
	}
	cfg.Timeout = 2 * time.Second
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube-apiserver is not ready: %w; last answer: %w; its log: %s",
				context.Cause(ctx), err, cp.sup.logFile("kube-apiserver"))
		case dead := <-cp.sup.dead:
			return dead
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (cp *ControlPlane) startControllerManager() error {
	kubeconfig, err := cp.Kubeconfig("kube-controller-manager", "", "system:kube-controller-manager")
	if err != nil {
		return err
	}
	return cp.sup.start(processSpec{
		name: "kube-controller-manager", path: cp.helpers.Path("controlplane"), env: os.Environ(),
		args: []string{
			"kube-controller-manager", "--kubeconfig=" + kubeconfig, "--leader-elect=false",
			"--secure-port=0", "--bind-address=127.0.0.1", "--use-service-account-credentials",
			"--root-ca-file=" + cp.ca.file(), "--service-account-private-key-file=" + cp.path("pki", "service-accounts.key"),
			// Namespaces and bindings come and go quickly here.
			"--kube-api-qps=200", "--kube-api-burst=400", "--concurrent-namespace-syncs=20",
		},
	})
}

// Kubeconfig writes a kubeconfig for a user and its groups and returns its path.
// The namespace is the default of its context.
func (cp *ControlPlane) Kubeconfig(name, namespace, user string, groups ...string) (string, error) {
	id, err := cp.ca.client("client-"+name, user, groups...)
	if err != nil {
		return "", err
	}
	path := cp.path("kubeconfig", name)
	if err := writeKubeconfig(path, cp.url, cp.ca.pem, id, "tenantry-"+filepath.Base(cp.dir), name, namespace); err != nil {
		return "", fmt.Errorf("write kubeconfig of %s: %w", name, err)
	}
	return path, nil
}

// accountKubeconfig writes a kubeconfig for a ServiceAccount.
func (cp *ControlPlane) accountKubeconfig(namespace, name string) (string, error) {
	return cp.Kubeconfig(name, namespace, "system:serviceaccount:"+namespace+":"+name,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// Admin is a client configuration for the cluster's admin.
func (cp *ControlPlane) Admin() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", cp.path("kubeconfig", "admin"))
}
