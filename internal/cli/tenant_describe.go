// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

func newTenantDescribe(s Streams, flags kubeFlags) *cobra.Command {
	return &cobra.Command{
		Use: "describe NAME", Short: "Tell all about one tenant", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeTenants(flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := flags.client()
			if err != nil {
				return err
			}
			t, err := getTenant(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			events, err := eventsOf(cmd.Context(), c, t)
			if err != nil {
				return err
			}
			return describeTenant(s.Out, t, events)
		},
	}
}

func eventsOf(ctx context.Context, c client.Client, t *v1alpha1.Tenant) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	err := c.List(ctx, list, client.InNamespace("default"), client.MatchingFields{
		"regarding.kind": "Tenant", "regarding.name": t.Name, "regarding.uid": string(t.UID),
	})
	return list.Items, err
}

// describeTenant prints a tenant as sections that leave out what is not there.
func describeTenant(w io.Writer, t *v1alpha1.Tenant, events []eventsv1.Event) error {
	d := newTable(w)
	d.row("Name:", t.Name)
	d.row("Age:", age(t.CreationTimestamp))
	for _, kind := range []string{v1alpha1.ReadyCondition, v1alpha1.SyncedCondition, v1alpha1.StalledCondition} {
		status, message := conditionOf(t, kind)
		if kind == v1alpha1.StalledCondition && status != "True" {
			continue
		}
		d.row(kind+":", strings.TrimSpace(status+"  "+oneLine(message, 400)))
	}
	d.row("Deletion policy:", string(t.Spec.DeletionPolicy))
	if self := t.Spec.Namespaces.SelfService; self != nil {
		d.row("Self-service:", fmt.Sprintf("up to %d namespaces named %s-*", self.Limit, t.Name))
	} else {
		d.row("Self-service:", "no")
	}
	network := t.Spec.Network.Mode
	if network == "" {
		network = v1alpha1.NetworkIsolated
	}
	d.row("Network:", string(network))
	for _, k := range slices.Sorted(maps.Keys(t.Spec.Quota)) {
		v := t.Spec.Quota[k]
		d.row("Quota "+string(k)+":", v.String()+" in each namespace")
	}
	if err := d.flush(); err != nil {
		return err
	}

	owners := newTable(w, "\nOWNER", "KIND", "ROLE", "CLUSTERROLES")
	for _, o := range t.Spec.Owners {
		role := string(o.Role)
		if role == "" && len(o.ClusterRoles) == 0 {
			role = "admin"
		}
		name := o.Name
		if o.Namespace != "" {
			name = o.Namespace + "/" + o.Name
		}
		owners.row(name, string(o.Kind), role, strings.Join(o.ClusterRoles, ","))
	}
	if len(t.Spec.Owners) > 0 {
		if err := owners.flush(); err != nil {
			return err
		}
	}
	namespaces := newTable(w, "\nNAMESPACE", "ORIGIN", "STATE")
	for _, ns := range t.Status.Namespaces {
		namespaces.row(ns.Name, string(ns.Origin), string(ns.State))
	}
	if len(t.Status.Namespaces) > 0 {
		if err := namespaces.flush(); err != nil {
			return err
		}
	}
	syncs := newTable(w, "\nSYNC", "READY", "REVISION", "MESSAGE")
	for _, sync := range t.Status.Syncs {
		syncs.row(sync.Name, string(sync.Ready), sync.Revision, oneLine(sync.Message, 160))
	}
	if len(t.Status.Syncs) > 0 {
		if err := syncs.flush(); err != nil {
			return err
		}
	}
	told := newTable(w, "\nEVENT", "AGE", "MESSAGE")
	for _, e := range events {
		told.row(e.Reason, age(e.CreationTimestamp), oneLine(e.Note, 160))
	}
	if len(events) > 0 {
		return told.flush()
	}
	return nil
}
