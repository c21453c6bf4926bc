// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
)

// kubeFlags are kubectl's flags for choosing a cluster and an identity.
type kubeFlags struct{ *genericclioptions.ConfigFlags }

func addKubeFlags(c *cobra.Command) kubeFlags {
	f := genericclioptions.NewConfigFlags(true)
	// Tenants are cluster-scoped, and passwords have no business on a command line.
	f.Namespace, f.CacheDir, f.AuthInfoName, f.Username, f.Password, f.BearerToken = nil, nil, nil, nil, nil, nil
	f.CertFile, f.KeyFile, f.CAFile, f.Insecure, f.TLSServerName, f.APIServer, f.DisableCompression = nil, nil, nil, nil, nil, nil, nil
	f.ClusterName = nil
	f.AddFlags(c.PersistentFlags())
	return kubeFlags{f}
}

func (f kubeFlags) config() (*rest.Config, error) {
	cfg, err := f.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster to talk to: %w; name one with --kubeconfig or --context", err)
	}
	return cfg, nil
}

func (f kubeFlags) client() (client.WithWatch, error) {
	cfg, err := f.config()
	if err != nil {
		return nil, err
	}
	c, err := kube.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("talk to %s: %w", cfg.Host, err)
	}
	return c, nil
}
