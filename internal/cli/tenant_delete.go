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
)

func newTenantDelete(s Streams, flags kubeFlags) *cobra.Command {
	var yes, dryRun, noWait bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete a tenant as its deletion policy says", Args: cobra.ExactArgs(1),
		Long: "Deletes a Tenant and waits until nothing of it is left: Flux objects first, then namespaces,\n" +
			"bindings and accounts. What it deletes is asked for unless --yes is given. A Tenant that is\n" +
			"still in Git comes back with the next sync: remove it there.",
		ValidArgsFunction: completeTenants(flags),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be deleted")
	c.Flags().BoolVar(&noWait, "no-wait", false, "don't wait until it is gone")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		cl, err := flags.client()
		if err != nil {
			return err
		}
		t, err := getTenant(cmd.Context(), cl, args[0])
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
		if err := cl.Delete(cmd.Context(), t, client.Preconditions{UID: &uid}); err != nil {
			return err
		}
		if noWait {
			return nil
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		end := newProgress(s.Err).Begin("delete tenant " + t.Name)
		err = awaitGone(ctx, cl, t)
		end(err)
		return err
	}
	return c
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
