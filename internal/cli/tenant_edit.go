// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/schema"
)

// tenantEdit changes a tenant in the fleet's files or, with --apply, on a cluster.
type tenantEdit struct {
	fleetFlags
	apply bool
}

func (o *tenantEdit) addFlags(c *cobra.Command) {
	c.Flags().BoolVar(&o.apply, "apply", false, "change the tenant on the cluster and write no file")
	o.addWrite(c)
	c.ValidArgsFunction = completeFleetTenants(&o.fleetFlags)
}

// run makes the changes; each that finds nothing to be about fails as missing says.
func (o *tenantEdit) run(ctx context.Context, s Streams, flags kubeFlags, name, what string, changes []fleet.Edit, missing []string) error {
	if o.apply && (o.dir != "" || o.commit || o.push) {
		return usagef("--apply writes no file: leave out --fleet, --commit and --push")
	}
	if o.apply {
		return o.live(ctx, s, flags, name, changes, missing)
	}
	if err := aboutFiles(flags); err != nil {
		return err
	}
	return o.change(ctx, s, "tenant "+name+": "+what, func(f *fleet.Fleet) error {
		for i, change := range changes {
			found, err := f.EditTenant(name, change)
			if err != nil {
				return err
			}
			if !found {
				return fmt.Errorf("tenant %s has no %s in the fleet; nothing was written", name, missing[i])
			}
		}
		return nil
	})
}

func (o *tenantEdit) live(ctx context.Context, s Streams, flags kubeFlags, name string, changes []fleet.Edit, missing []string) error {
	c, err := flags.client()
	if err != nil {
		return err
	}
	t, err := getTenant(ctx, c, name)
	if err != nil {
		return err
	}
	before := t.DeepCopy()
	for i, change := range changes {
		found, err := fleet.EditLive(t, change)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("tenant %s has no %s; nothing was changed", name, missing[i])
		}
	}
	if err := schema.Tenant(t); err != nil {
		return fmt.Errorf("tenant %s: %w", name, err)
	}
	opts := []client.PatchOption{cliManager}
	verb := "changed"
	if o.dryRun {
		opts, verb = append(opts, client.DryRunAll), "would be changed"
	}
	if err := c.Patch(ctx, t, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), opts...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Tenant %s %s\n", name, verb)
	return err
}

func newTenantOwner(s Streams, flags kubeFlags) *cobra.Command {
	return group("owner", "Add and remove owners of a tenant", newTenantOwnerVerb(s, flags, true), newTenantOwnerVerb(s, flags, false))
}

func newTenantOwnerVerb(s Streams, flags kubeFlags, add bool) *cobra.Command {
	var o tenantEdit
	var groups, users, accounts, clusterRoles []string
	var role string
	verb, does := "remove", "Take a tenant from owners"
	if add {
		verb, does = "add", "Give a tenant owners, or another role to those it has"
	}
	c := &cobra.Command{
		Use: verb + " TENANT", Short: does, Args: cobra.ExactArgs(1),
		Example: "  tenantry tenant owner " + verb + " oil --group oil-team",
	}
	f := c.Flags()
	f.StringSliceVar(&groups, "group", nil, "groups")
	f.StringSliceVar(&users, "user", nil, "users")
	f.StringSliceVar(&accounts, "account", nil, "accounts, as NAMESPACE/NAME")
	if add {
		f.StringVar(&role, "role", "", "admin, edit or view (default admin)")
		f.StringSliceVar(&clusterRoles, "cluster-role", nil, "further ClusterRoles of the platform's")
	}
	o.addFlags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		owners, err := ownersOf(groups, users, accounts)
		if err != nil {
			return err
		}
		if len(owners) == 0 {
			return usagef("say whom: --group, --user or --account")
		}
		var changes []fleet.Edit
		var names []string
		for _, owner := range owners {
			owner.Role, owner.ClusterRoles = v1alpha1.Role(role), clusterRoles
			names = append(names, "owner "+string(owner.Kind)+" "+owner.Name)
			if add {
				changes = append(changes, fleet.AddOwner(owner))
			} else {
				changes = append(changes, fleet.RemoveOwner(owner))
			}
		}
		return o.run(cmd.Context(), s, flags, args[0], verb+" "+strings.Join(names, ", "), changes, names)
	}
	return c
}

func ownersOf(groups, users, accounts []string) ([]v1alpha1.Owner, error) {
	var all []v1alpha1.Owner
	for _, name := range groups {
		all = append(all, v1alpha1.Owner{Kind: v1alpha1.OwnerGroup, Name: name})
	}
	for _, name := range users {
		all = append(all, v1alpha1.Owner{Kind: v1alpha1.OwnerUser, Name: name})
	}
	for _, a := range accounts {
		owner, err := accountOwner(a)
		if err != nil {
			return nil, err
		}
		all = append(all, owner)
	}
	return all, nil
}

func newTenantNamespace(s Streams, flags kubeFlags) *cobra.Command {
	return group("namespace", "Declare namespaces of a tenant, and take them back",
		newTenantNamespaceVerb(s, flags, true), newTenantNamespaceVerb(s, flags, false))
}

func newTenantNamespaceVerb(s Streams, flags kubeFlags, add bool) *cobra.Command {
	var o tenantEdit
	verb, does := "remove", "Take back namespaces; the controller deletes them with all they hold"
	if add {
		verb, does = "add", "Declare namespaces of a tenant"
	}
	c := &cobra.Command{
		Use: verb + " TENANT NAMESPACE...", Short: does, Args: cobra.MinimumNArgs(2),
		Example: "  tenantry tenant namespace " + verb + " oil oil-web",
		RunE: func(cmd *cobra.Command, args []string) error {
			var changes []fleet.Edit
			var names []string
			for _, ns := range args[1:] {
				names = append(names, "namespace "+ns)
				if add {
					changes = append(changes, fleet.AddNamespace(ns))
				} else {
					changes = append(changes, fleet.RemoveNamespace(ns))
				}
			}
			return o.run(cmd.Context(), s, flags, args[0], verb+" "+strings.Join(names, ", "), changes, names)
		},
	}
	o.addFlags(c)
	return c
}
