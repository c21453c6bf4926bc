// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/fleet"
)

func newTenant(s Streams) *cobra.Command {
	c := group("tenant", "Onboard, look at, change, export and delete tenants")
	c.Long = "Tenants of a fleet repository, and tenants of a cluster. In a fleet's directory, or with --fleet,\n" +
		"list and delete are about the fleet's files; with --context or --kubeconfig, or outside of a fleet,\n" +
		"about the cluster. create, owner and namespace write files, unless --apply is given."
	c.Aliases = []string{"tenants", "tn"}
	flags := addKubeFlags(c)
	c.AddCommand(
		newTenantList(s, flags), newTenantGet(s, flags), newTenantDescribe(s, flags),
		newTenantDelete(s, flags), newTenantExport(s, flags),
		newTenantCreate(s, flags), newTenantShow(s), newTenantOwner(s, flags), newTenantNamespace(s, flags),
		newTenantTree(s, flags), newTenantEvents(s, flags),
	)
	return c
}

// getTenant reads one tenant and says in a person's words why it can't.
func getTenant(ctx context.Context, c client.Client, name string) (*v1alpha1.Tenant, error) {
	t := &v1alpha1.Tenant{}
	return t, explain(c.Get(ctx, client.ObjectKey{Name: name}, t), name)
}

func explain(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err):
		return fmt.Errorf("this cluster has no Tenant API: install it with `tenantry install`")
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no tenant %s; `tenantry tenant list` shows those there are", name)
	default:
		return err
	}
}

// completeFleetTenants offers the names of the fleet's tenants to the shell.
func completeFleetTenants(o *fleetFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		f, err := o.load()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offered(texts(f.Tenants, func(t fleet.Tenant) string { return t.Name }), prefix)
	}
}

// completeTenants offers the names of the cluster's tenants to the shell.
func completeTenants(flags kubeFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		c, err := flags.client()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := &v1alpha1.TenantList{}
		if err := c.List(cmd.Context(), list); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offered(texts(list.Items, func(t v1alpha1.Tenant) string { return t.Name }), prefix)
	}
}

func offered(names []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) }), cobra.ShellCompDirectiveNoFileComp
}
