// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/survey"
)

// acrossFlags say which clusters a command asks.
type acrossFlags struct {
	kube     kubeFlags
	contexts []string
	fleet    fleetFlags
	timeout  time.Duration
	// expected are the tenants that the fleet gives each cluster, when it was the fleet
	// that said which clusters to ask.
	expected map[string][]string
}

func (o *acrossFlags) addFlags(c *cobra.Command, flags kubeFlags) {
	o.kube = flags
	c.Flags().StringSliceVar(&o.contexts, "contexts", nil, "contexts of the kubeconfig to ask; by default the fleet's, as tenantry.yaml lists them, or the current one")
	c.Flags().DurationVar(&o.timeout, "cluster-timeout", 5*time.Second, "how long to wait for each cluster")
	o.fleet.addRead(c)
}

// clusters are those to be asked: the contexts named, the fleet's own list, or the one
// that kubectl would ask.
func (o *acrossFlags) clusters() ([]survey.Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = *o.kube.KubeConfig
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("no cluster to talk to: %w", err)
	}
	named := map[string]string{} // name for people -> context
	var names []string
	add := func(name, context string) {
		if _, there := named[name]; !there {
			names = append(names, name)
		}
		named[name] = context
	}
	listed, expected, err := o.fleetContexts()
	if err != nil {
		return nil, err
	}
	switch {
	case len(o.contexts) > 0:
		for _, c := range o.contexts {
			if raw.Contexts[c] == nil {
				return nil, usagef("--contexts: the kubeconfig has no context %s; it has %s", c, strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
			}
			add(c, c)
		}
	case *o.kube.Context != "" || len(listed) == 0:
		cfg, err := o.kube.config()
		if err != nil {
			return nil, err
		}
		name := *o.kube.Context
		if name == "" {
			name = raw.CurrentContext
		}
		return []survey.Cluster{{Name: dash(name), Config: cfg}}, nil
	default:
		o.expected = expected
		for _, c := range slices.Sorted(maps.Keys(listed)) {
			add(c, listed[c])
		}
	}
	var all []survey.Cluster
	for _, name := range names {
		all = append(all, o.cluster(name, named[name]))
	}
	return all, nil
}

// clustersOf are the clusters to be asked about one tenant: of the fleet's own list,
// those that the fleet gives it to.
func (o *acrossFlags) clustersOf(tenant string) ([]survey.Cluster, error) {
	all, err := o.clusters()
	if err != nil || o.expected == nil {
		return all, err
	}
	all = slices.DeleteFunc(all, func(c survey.Cluster) bool { return !slices.Contains(o.expected[c.Name], tenant) })
	if len(all) == 0 {
		return nil, fmt.Errorf("the fleet gives no cluster a tenant %s; name clusters with --contexts to ask them all the same", tenant)
	}
	return all, nil
}

// cluster is one to be asked; that it can't be is told with the others' answers.
func (o *acrossFlags) cluster(name, context string) survey.Cluster {
	c := survey.Cluster{Name: name}
	if context == "" {
		c.Err = fmt.Errorf("%s names no context for it, under contexts", fleet.FileName)
		return c
	}
	f := genericclioptions.NewConfigFlags(false)
	f.KubeConfig, f.Context, f.Timeout = o.kube.KubeConfig, &context, o.kube.Timeout
	f.Impersonate, f.ImpersonateUID, f.ImpersonateGroup, f.ImpersonateUserExtra = o.kube.Impersonate, o.kube.ImpersonateUID, o.kube.ImpersonateGroup, o.kube.ImpersonateUserExtra
	c.Config, c.Err = f.ToRESTConfig()
	if c.Err != nil {
		c.Err = fmt.Errorf("context %s: %w", context, c.Err)
	}
	return c
}

// fleetContexts are the contexts of the fleet's clusters, "" for one that has none, and
// their tenants. The list is empty when the fleet names none at all, or there is no fleet.
func (o *acrossFlags) fleetContexts() (contexts map[string]string, tenants map[string][]string, err error) {
	dir := fleetOf(&o.fleet, o.kube)
	if dir == "" && o.fleet.dir == "" && *o.kube.Context == "" {
		dir = nearby(fleet.Find(".")) // a kubeconfig alone doesn't say which of its contexts
	}
	if dir == "" || len(o.contexts) > 0 {
		return nil, nil, nil
	}
	f, err := fleet.Load(dir)
	if err != nil || len(f.Config.Contexts) == 0 {
		return nil, nil, err
	}
	contexts, tenants = map[string]string{}, map[string][]string{}
	for _, c := range f.ClusterNames() {
		contexts[c], tenants[c] = f.Config.Contexts[c], f.TenantsOf(c)
	}
	return contexts, tenants, nil
}
