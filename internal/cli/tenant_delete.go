// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/fleet"
)

func newTenantDelete(s Streams, flags kubeFlags) *cobra.Command {
	var o fleetFlags
	var where placement
	var yes, noWait, apply bool
	var namespace string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "delete [NAME]", Short: "Take a tenant out of the fleet, or delete it on a cluster", Args: cobra.MaximumNArgs(1),
		Long: "In a fleet it removes the tenant's files and all that names them, or with --env, --groups or\n" +
			"--clusters takes it out of those alone; the clusters follow when that is merged.\n\n" +
			"On a cluster (--apply, --context, or outside of a fleet) it deletes the Tenant and waits until\n" +
			"nothing of it is left: Flux objects first, then namespaces, bindings and accounts. What it deletes\n" +
			"is asked for unless --yes is given. A Tenant that is still in Git comes back with the next sync.",
		Example:           "  tenantry tenant delete oil\n  tenantry tenant delete --namespace oil-web --dry-run\n  tenantry tenant delete oil --context laptop",
		ValidArgsFunction: completeTenants(flags),
	}
	c.Flags().StringVar(&namespace, "namespace", "", "the one tenant of the fleet that has this namespace")
	c.Flags().BoolVar(&apply, "apply", false, "delete the tenant on the cluster and write no file")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask before deleting on a cluster")
	c.Flags().BoolVar(&noWait, "no-wait", false, "don't wait until it is gone from the cluster")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait")
	where.addPlacement(c)
	o.addWrite(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if dir := fleetOf(&o, flags); dir != "" && !apply {
			return deleteFleetTenant(cmd.Context(), s, o, where, args, namespace)
		}
		switch {
		case where.given() || namespace != "" || o.commit || o.push:
			return usagef("--namespace, --env, --groups, --clusters, --commit and --push are about a fleet's files: there is none here, or a cluster is named")
		case len(args) == 0:
			return usagef("say which tenant")
		}
		return deleteLive(cmd.Context(), s, flags, args[0], o.dryRun, yes, noWait, timeout)
	}
	return c
}

// deleteFleetTenant takes a tenant out of the fleet's files.
func deleteFleetTenant(ctx context.Context, s Streams, o fleetFlags, where placement, args []string, namespace string) error {
	name := ""
	what := "tenant: delete"
	if len(args) == 1 {
		what = "tenant " + args[0] + ": delete"
	}
	return o.change(ctx, s, what, func(f *fleet.Fleet) error {
		t, err := chosen(f, args, namespace)
		if err != nil {
			return err
		}
		name = t.Name
		var overlays []string
		if where.given() {
			if overlays, err = f.OverlaysOf(t, where.clusters, where.groups, where.environments); err != nil {
				return err
			}
		}
		return f.DeleteTenant(name, overlays...)
	}, "review and commit; clusters then delete the tenant as its deletion policy says")
}

// deleteLive deletes a tenant on a cluster.
func deleteLive(ctx context.Context, s Streams, flags kubeFlags, name string, dryRun, yes, noWait bool, timeout time.Duration) error {
	cl, err := flags.client()
	if err != nil {
		return err
	}
	t, err := getTenant(ctx, cl, name)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(s.Err, consequence(t)); err != nil || dryRun {
		return err
	}
	if !yes {
		if err := confirm(s, t.Name); err != nil {
			return err
		}
	}
	uid := t.UID
	if err := cl.Delete(ctx, t, client.Preconditions{UID: &uid}); err != nil {
		return err
	}
	if noWait {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end := newProgress(s.Err).Begin("delete tenant " + t.Name)
	err = awaitGone(ctx, cl, t)
	end(err)
	return err
}

// consequence says what deleting does.
func consequence(t *v1alpha1.Tenant) string {
	var names, assigned []string
	for _, ns := range t.Status.Namespaces {
		if ns.Origin == v1alpha1.OriginAssigned {
			assigned = append(assigned, ns.Name)
		} else {
			names = append(names, ns.Name)
		}
	}
	if t.Spec.DeletionPolicy == v1alpha1.DeletionRetain {
		return fmt.Sprintf("Tenant %s goes; its namespaces stay with what runs in them, and nobody of it has access: %s", t.Name, strings.Join(append(names, assigned...), ", "))
	}
	text := fmt.Sprintf("Tenant %s goes, with these namespaces and all that is in them: %s", t.Name, strings.Join(names, ", "))
	if len(assigned) > 0 {
		text += "; these stay, as the platform's: " + strings.Join(assigned, ", ")
	}
	return text
}

func confirm(s Streams, name string) error {
	if _, err := fmt.Fprintf(s.Err, "Type the tenant's name to go on: "); err != nil {
		return err
	}
	answer, err := bufio.NewReader(s.In).ReadString('\n')
	if strings.TrimSpace(answer) == name {
		return nil
	}
	if err != nil && answer == "" {
		return errors.New("nobody answered; give --yes to delete without being asked")
	}
	return errors.New("that is another name; nothing was deleted")
}

func awaitGone(ctx context.Context, c client.Client, t *v1alpha1.Tenant) error {
	for {
		now := &v1alpha1.Tenant{}
		err := c.Get(ctx, client.ObjectKeyFromObject(t), now)
		if apierrors.IsNotFound(err) || err == nil && now.UID != t.UID {
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				_, message := conditionOf(now, v1alpha1.ReadyCondition)
				return fmt.Errorf("tenant %s is not gone yet: %s; it goes on by itself while the controller runs", t.Name, message)
			}
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}
