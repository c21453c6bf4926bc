// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

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
	for _, allowed := range allowances(t) {
		d.row(allowed.what+":", strings.Join(allowed.list, ", "))
	}
	if err := d.flush(); err != nil {
		return err
	}

	return describeLists(w, t, events)
}

// describeLists prints what a tenant has several of, each kind as a table.
func describeLists(w io.Writer, t *v1alpha1.Tenant, events []eventsv1.Event) error {
	return errors.Join(
		section(w, []string{"OWNER", "KIND", "ROLE", "CLUSTERROLES"}, t.Spec.Owners, func(o v1alpha1.Owner) []string {
			role := string(o.Role)
			if role == "" && len(o.ClusterRoles) == 0 {
				role = "admin"
			}
			name := o.Name
			if o.Namespace != "" {
				name = o.Namespace + "/" + o.Name
			}
			return []string{name, string(o.Kind), role, strings.Join(o.ClusterRoles, ",")}
		}),
		section(w, []string{"NAMESPACE", "ORIGIN", "STATE"}, t.Status.Namespaces, func(ns v1alpha1.NamespaceStatus) []string {
			return []string{ns.Name, string(ns.Origin), string(ns.State)}
		}),
		section(w, []string{"SYNC", "READY", "REVISION", "MESSAGE"}, t.Status.Syncs, func(sync v1alpha1.SyncStatus) []string {
			return []string{sync.Name, string(sync.Ready), sync.Revision, oneLine(sync.Message, 160)}
		}),
		section(w, []string{"EXCEPTION", "ACTION", "UNTIL", "REASON"}, t.Spec.Exceptions, func(e v1alpha1.Exception) []string {
			until := "never ends"
			if e.Until != nil {
				until = e.Until.UTC().Format(time.RFC3339)
				if e.Until.Time.Before(time.Now()) {
					until += " (ended)"
				}
			}
			return []string{e.Rule, string(cmp.Or(e.Action, v1alpha1.ExceptionAllow)), until, oneLine(e.Reason, 160)}
		}),
		section(w, []string{"REFUSED", "AGE", "RULE", "MESSAGE"}, t.Status.Refusals, func(r v1alpha1.Refusal) []string {
			return []string{r.Object, age(r.Since), r.Rule, oneLine(r.Message, 240)}
		}),
		section(w, []string{"EVENT", "AGE", "MESSAGE"}, events, func(e eventsv1.Event) []string {
			return []string{e.Reason, age(e.CreationTimestamp), oneLine(e.Note, 160)}
		}),
	)
}

// section prints a table under an empty line, or nothing when there is nothing.
func section[T any](w io.Writer, header []string, items []T, row func(T) []string) error {
	if len(items) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	table := newTable(w, header...)
	for _, item := range items {
		table.row(row(item)...)
	}
	return table.flush()
}

type allowance struct {
	what string
	list []string
}

// allowances are what a tenant has beyond the defaults.
func allowances(t *v1alpha1.Tenant) []allowance {
	allow, sources := &t.Spec.Allow, &t.Spec.Sources
	all := []allowance{
		{"Domains", t.Spec.Domains},
		{"Sources", sources.Allow},
		{"Buckets", texts(sources.Buckets, func(b v1alpha1.AllowedBucket) string { return b.Endpoint + "/" + b.Name })},
		{"Service types", texts(allow.ServiceTypes, func(s v1alpha1.ServiceType) string { return string(s) })},
		{"Ingress classes", allow.IngressClasses}, {"Gateway classes", allow.GatewayClasses}, {"Gateways", allow.Gateways},
		{"Storage classes", allow.StorageClasses}, {"Attributes classes", allow.VolumeAttributesClasses}, {"Snapshot classes", allow.SnapshotClasses},
		{"Priority classes", allow.PriorityClasses}, {"Runtime classes", allow.RuntimeClasses}, {"Device classes", allow.DeviceClasses},
		{"Registries", allow.Registries},
		{"Pull policies", texts(allow.PullPolicies, func(p v1alpha1.PullPolicy) string { return string(p) })},
		{"Tolerations", allow.Tolerations}, {"Node selectors", allow.NodeSelectors},
		{"Accounts", allow.Accounts}, {"Addresses", allow.Addresses}, {"Kubeconfigs", allow.KubeConfigs},
		{"Secret stores", t.Spec.Secrets.Stores}, {"Secret providers", t.Spec.Secrets.Providers},
	}
	if v := sources.Verify; v != nil {
		all = append(all, allowance{"Signed by", append([]string{}, v.SecretNames...)})
		if len(v.SecretNames) == 0 {
			all[len(all)-1].list = []string{"any key"}
		}
	}
	return slices.DeleteFunc(all, func(a allowance) bool { return len(a.list) == 0 })
}

func texts[T any](list []T, text func(T) string) []string {
	var all []string
	for _, v := range list {
		all = append(all, text(v))
	}
	return all
}
