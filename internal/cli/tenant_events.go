// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/survey"
)

// eventRow is an event on a cluster.
type eventRow struct {
	Cluster string    `json:"cluster"`
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Object  string    `json:"object"`
	Message string    `json:"message"`
	uid     string
}

func newTenantEvents(s Streams, flags kubeFlags) *cobra.Command {
	var o acrossFlags
	var watch, warnings bool
	var output string
	c := &cobra.Command{
		Use: "events TENANT", Short: "Print what happened to a tenant and in its namespaces, over clusters", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeTenants(flags),
	}
	o.addFlags(c, flags)
	c.Flags().BoolVarP(&watch, "watch", "w", false, "go on and print new ones until interrupted")
	c.Flags().BoolVar(&warnings, "warnings", false, "warnings alone")
	c.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if watch && output != "" {
			return usagef("--watch prints a table; leave out -o %s", output)
		}
		clusters, err := o.clustersOf(args[0])
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		ask := func() ([]eventRow, bool) {
			return eventsAcross(cmd.Context(), s, clusters, o.timeout, args[0], warnings, seen)
		}
		rows, answered := ask()
		if output != "" {
			if err := printAs(s.Out, output, append([]eventRow{}, rows...)); err != nil {
				return err
			}
		} else if err := printEvents(s.Out, rows, len(clusters) > 1, true); err != nil {
			return err
		}
		for watch {
			select {
			case <-cmd.Context().Done():
				return nil
			case <-time.After(askEvery):
			}
			rows, answered = ask()
			if err := printEvents(s.Out, rows, len(clusters) > 1, false); err != nil {
				return err
			}
		}
		if !answered {
			return errQuiet
		}
		return nil
	}
	return c
}

// eventsAcross are the events that were not seen yet, oldest first.
func eventsAcross(ctx context.Context, s Streams, clusters []survey.Cluster, timeout time.Duration, tenant string, warnings bool, seen map[string]bool) ([]eventRow, bool) {
	found, errs := survey.Do(ctx, clusters, timeout, func(ctx context.Context, c client.WithWatch) ([]eventRow, error) { return tenantEvents(ctx, c, tenant) })
	var all []eventRow
	answered := true
	for i, c := range clusters {
		if errs[i] != nil && ctx.Err() == nil {
			answered = false
			_, _ = fmt.Fprintf(s.Err, "%s   does not answer: %s\n", c.Name, oneLine(errs[i].Error(), 200))
		}
		for _, e := range found[i] {
			key := c.Name + e.uid + e.Time.String()
			if seen[key] || warnings && e.Type != corev1.EventTypeWarning {
				continue
			}
			seen[key] = true
			e.Cluster = c.Name
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b eventRow) int { return a.Time.Compare(b.Time) })
	return all, answered
}

// tenantEvents are the events of a Tenant and of its namespaces.
func tenantEvents(ctx context.Context, c client.Client, tenant string) ([]eventRow, error) {
	t, err := getTenant(ctx, c, tenant)
	if err != nil {
		return nil, err
	}
	events, err := eventsOf(ctx, c, t)
	if err != nil {
		return nil, err
	}
	namespaces := &corev1.NamespaceList{}
	if err := c.List(ctx, namespaces, client.MatchingLabels{v1alpha1.TenantLabel: tenant}); err != nil {
		return nil, err
	}
	for _, ns := range namespaces.Items {
		list := &eventsv1.EventList{}
		if err := c.List(ctx, list, client.InNamespace(ns.Name)); err != nil {
			return nil, err
		}
		events = append(events, list.Items...)
	}
	var all []eventRow
	for _, e := range events {
		row := eventRow{Type: e.Type, Reason: e.Reason, Message: e.Note, uid: string(e.UID), Time: lastSeen(e)}
		row.Object = e.Regarding.Kind + " " + e.Regarding.Name
		if e.Regarding.Namespace != "" {
			row.Object = e.Regarding.Kind + " " + e.Regarding.Namespace + "/" + e.Regarding.Name
		}
		all = append(all, row)
	}
	return all, nil
}

// lastSeen is when an event happened last; old and new clients write it in other fields.
func lastSeen(e eventsv1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return slices.MaxFunc([]time.Time{e.EventTime.Time, e.DeprecatedLastTimestamp.Time, e.CreationTimestamp.Time}, time.Time.Compare)
}

func printEvents(w io.Writer, rows []eventRow, several, header bool) error {
	table := newTable(w)
	head := []string{"AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"}
	if several {
		head = append([]string{"CLUSTER"}, head...)
	}
	if header {
		table.row(head...)
	}
	for _, e := range rows {
		cells := []string{duration.HumanDuration(time.Since(e.Time)), cmp.Or(e.Type, "Normal"), e.Reason, e.Object, oneLine(e.Message, 140)}
		if several {
			cells = append([]string{e.Cluster}, cells...)
		}
		table.row(cells...)
	}
	return table.flush()
}
