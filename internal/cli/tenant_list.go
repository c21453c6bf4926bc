// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// tenantOutput prints tenants in the format asked for.
type tenantOutput struct {
	format string
	watch  bool
}

func (o *tenantOutput) addFlags(c *cobra.Command) {
	c.Flags().StringVarP(&o.format, "output", "o", "", "json, yaml or wide")
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "go on and print changes until interrupted")
}

func (o *tenantOutput) check() error {
	switch o.format {
	case "", "wide":
		return nil
	case "json", "yaml":
		if o.watch {
			return usagef("--watch prints a table; leave out -o %s", o.format)
		}
		return nil
	default:
		return usagef("output %q is not known; use json, yaml or wide", o.format)
	}
}

func newTenantList(s Streams, flags kubeFlags) *cobra.Command {
	var out tenantOutput
	var o fleetFlags
	c := &cobra.Command{
		Use: "list", Short: "List tenants of the fleet, or of a cluster", Aliases: []string{"ls"}, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			if dir := fleetOf(&o, flags); dir != "" {
				return listFleetTenants(s, dir, out)
			}
			return showTenants(cmd.Context(), s, flags, out, "")
		},
	}
	out.addFlags(c)
	o.addRead(c)
	return c
}

func newTenantGet(s Streams, flags kubeFlags) *cobra.Command {
	var out tenantOutput
	c := &cobra.Command{
		Use: "get NAME", Short: "Print one tenant", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeTenants(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showTenants(cmd.Context(), s, flags, out, args[0])
		},
	}
	out.addFlags(c)
	return c
}

// showTenants prints all tenants, or the one named.
func showTenants(ctx context.Context, s Streams, flags kubeFlags, out tenantOutput, name string) error {
	if err := out.check(); err != nil {
		return err
	}
	c, err := flags.client()
	if err != nil {
		return err
	}
	list := &v1alpha1.TenantList{}
	var opts []client.ListOption
	if name != "" {
		opts = append(opts, client.MatchingFields{"metadata.name": name})
	}
	if err := c.List(ctx, list, opts...); err != nil {
		return explain(err, name)
	}
	if name != "" && len(list.Items) == 0 {
		_, err := getTenant(ctx, c, name)
		return err
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Tenant) int { return strings.Compare(a.Name, b.Name) })
	if out.format == "json" || out.format == "yaml" {
		return printTenants(s, out.format, list, name)
	}
	if len(list.Items) == 0 && !out.watch {
		_, err := fmt.Fprintln(s.Err, "No tenants.")
		return err
	}
	wide := out.format == "wide"
	t := newTable(s.Out, tenantHeader(wide)...)
	for i := range list.Items {
		t.row(tenantCells(&list.Items[i], wide)...)
	}
	if err := t.flush(); err != nil || !out.watch {
		return err
	}
	return watchTenants(ctx, s, c, list.ResourceVersion, opts, wide)
}

func printTenants(s Streams, format string, list *v1alpha1.TenantList, name string) error {
	gvk := v1alpha1.GroupVersion.WithKind("Tenant")
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(gvk)
		list.Items[i].ManagedFields = nil
	}
	if name != "" {
		return printAs(s.Out, format, list.Items[0])
	}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("TenantList"))
	return printAs(s.Out, format, list)
}

func watchTenants(ctx context.Context, s Streams, c client.WithWatch, from string, opts []client.ListOption, wide bool) error {
	opts = append(opts, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: from}})
	w, err := c.Watch(ctx, &v1alpha1.TenantList{}, opts...)
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		t, ok := e.Object.(*v1alpha1.Tenant)
		if !ok && ctx.Err() != nil {
			break
		}
		if !ok {
			return fmt.Errorf("the watch ended: %v", e.Object)
		}
		cells := tenantCells(t, wide)
		if e.Type == watch.Deleted {
			cells[1] = "Deleted"
		}
		row := newTable(s.Out)
		row.row(cells...)
		if err := row.flush(); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // a watch is meant to be interrupted
	}
	return errors.New("the API server ended the watch; start it again")
}

func tenantHeader(wide bool) []string {
	h := []string{"NAME", "READY", "NAMESPACES", "OWNERS", "AGE"}
	if wide {
		h = append(h, "SYNCED", "MESSAGE")
	}
	return h
}

func tenantCells(t *v1alpha1.Tenant, wide bool) []string {
	ready, message := conditionOf(t, v1alpha1.ReadyCondition)
	cells := []string{t.Name, ready, fmt.Sprint(t.Status.NamespaceCount), t.Status.Owners, age(t.CreationTimestamp)}
	if wide {
		synced, why := conditionOf(t, v1alpha1.SyncedCondition)
		if ready == "True" && synced == "False" {
			message = why
		}
		cells = append(cells, synced, oneLine(message, 120))
	}
	return cells
}

func conditionOf(t *v1alpha1.Tenant, kind string) (status, message string) {
	c := meta.FindStatusCondition(t.Status.Conditions, kind)
	if c == nil {
		return "Unknown", ""
	}
	return string(c.Status), c.Message
}

func age(t metav1.Time) string { return duration.HumanDuration(time.Since(t.Time)) }
