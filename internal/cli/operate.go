// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/survey"
	"github.com/tenantry/tenantry/internal/words"
)

// operation is a verb on the syncs of a tenant.
type operation struct {
	use, short, long, doing string
	timeout                 time.Duration
	do                      func(ctx context.Context, c client.Client, tenant, sync string) ([]survey.Operated, error)
}

func newReconcile(s Streams) *cobra.Command {
	return newOperation(s, operation{
		use: "reconcile", short: "Have Flux fetch and apply a tenant's syncs now", doing: "reconcile", timeout: 2 * time.Minute,
		long: "Asks Flux to fetch the source of each sync of the tenant and to apply it, and waits until it did.",
		do:   survey.Reconcile,
	})
}

func newSuspend(s Streams) *cobra.Command {
	return newOperation(s, operation{
		use: "suspend", short: "Have Flux leave a tenant's syncs as they are", doing: "suspend", timeout: 10 * time.Second,
		long: "Suspends the syncs of a tenant: what runs keeps running, and changes in Git are not applied until\n" +
			"`tenantry resume`. It is a switch on the cluster and not in Git; to freeze a tenant for its people too,\n" +
			"set spec.cordoned in its Tenant.",
		do: func(ctx context.Context, c client.Client, tenant, sync string) ([]survey.Operated, error) {
			return survey.Suspend(ctx, c, tenant, sync, true)
		},
	})
}

func newResume(s Streams) *cobra.Command {
	return newOperation(s, operation{
		use: "resume", short: "Have Flux go on with a tenant's syncs", doing: "resume", timeout: 10 * time.Second,
		long: "Resumes the syncs of a tenant that `tenantry suspend` suspended.",
		do: func(ctx context.Context, c client.Client, tenant, sync string) ([]survey.Operated, error) {
			return survey.Suspend(ctx, c, tenant, sync, false)
		},
	})
}

func newOperation(s Streams, op operation) *cobra.Command {
	var o acrossFlags
	c := &cobra.Command{
		Use: op.use + " TENANT[/SYNC]", Short: op.short, Long: op.long + "\nIt needs the rights of a platform admin: Flux's objects are kept from tenants.",
		Args:    cobra.ExactArgs(1),
		Example: "  tenantry " + op.use + " oil\n  tenantry " + op.use + " oil/apps --contexts staging,production",
	}
	flags := addKubeFlags(c)
	o.addFlags(c, flags)
	c.Flags().Lookup("cluster-timeout").DefValue = op.timeout.String()
	o.timeout = op.timeout
	c.ValidArgsFunction = completeTenants(flags)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		tenant, sync, named := strings.Cut(args[0], "/")
		if tenant == "" || named && sync == "" {
			return usagef("%q: want TENANT or TENANT/SYNC", args[0])
		}
		clusters, err := o.clustersOf(tenant)
		if err != nil {
			return err
		}
		end := newProgress(s.Err).Begin(op.doing + " " + args[0])
		done, errs := survey.Do(cmd.Context(), clusters, o.timeout, func(ctx context.Context, c client.WithWatch) ([]survey.Operated, error) {
			return op.do(ctx, c, tenant, sync)
		})
		failed := printOperated(s, clusters, tenant, done, errs, end)
		if failed {
			return errQuiet
		}
		return nil
	}
	return c
}

// printOperated tells what came of it on each cluster, and whether anything failed.
func printOperated(s Streams, clusters []survey.Cluster, tenant string, done [][]survey.Operated, errs []error, end func(error)) (failed bool) {
	var lines []string
	for i, c := range clusters {
		for _, o := range done[i] {
			message := o.Message
			if message == "" {
				message = "applied " + words.Short(o.Revision)
			}
			failed = failed || !o.Done
			lines = append(lines, fmt.Sprintf("%s   %s/%s: %s", c.Name, tenant, o.Name, oneLine(message, 300)))
		}
		if errs[i] != nil {
			failed = true
			lines = append(lines, fmt.Sprintf("%s   %s", c.Name, oneLine(errs[i].Error(), 300)))
		}
	}
	var err error
	if failed {
		err = errQuiet
	}
	end(err)
	for _, l := range lines {
		_, _ = fmt.Fprintln(s.Out, l) // nobody to tell
	}
	return failed
}
