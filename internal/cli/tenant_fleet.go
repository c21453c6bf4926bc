// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/fleet"
)

// fleetOf is the fleet that a command is about, or "" when it is about a cluster: when
// one is named by its flags, or when there is no fleet here.
func fleetOf(o *fleetFlags, flags kubeFlags) string {
	switch {
	case o.dir != "":
		return o.dir
	case *flags.Context != "" || *flags.KubeConfig != "":
		return ""
	default:
		return nearby(fleet.Find("."))
	}
}

// fleetTenant is a tenant of the fleet as commands print it.
type fleetTenant struct {
	fleet.Tenant
	Spec v1alpha1.TenantSpec `json:"spec"`
}

func listFleetTenants(s Streams, dir string, out tenantOutput) error {
	if out.watch {
		return usagef("--watch watches a cluster; name one with --context, or see `tenantry get tenants --watch`")
	}
	f, err := fleet.Load(dir)
	if err != nil {
		return err
	}
	all := []fleetTenant{}
	for i := range f.Tenants {
		t := &f.Tenants[i]
		declared, err := f.Declared(t)
		if err != nil {
			return err
		}
		all = append(all, fleetTenant{*t, declared.Spec})
	}
	if out.format == "json" || out.format == "yaml" {
		return printAs(s.Out, out.format, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.Err, "No tenants. Make one with `tenantry tenant create`.")
		return err
	}
	header := []string{"NAME", "ENVIRONMENTS", "NAMESPACES", "OWNERS"}
	if out.format == "wide" {
		header = append(header, "CLUSTERS", "FILE")
	}
	table := newTable(s.Out, header...)
	for _, t := range all {
		cells := []string{t.Name, orNone(environmentsOf(&t.Tenant)), namespacesText(t.Spec), oneLine(ownersText(t.Spec), 60)}
		if out.format == "wide" {
			cells = append(cells, orNone(clustersOf(&t.Tenant)), fmt.Sprintf("%s:%d", t.File, t.Line))
		}
		table.row(cells...)
	}
	return table.flush()
}

// environmentsOf are the names of a tenant's overlays, or their paths where names repeat.
func environmentsOf(t *fleet.Tenant) []string {
	return texts(t.Places, func(p fleet.Place) string {
		if slices.ContainsFunc(t.Places, func(o fleet.Place) bool { return o.Overlay == p.Overlay && o.Path != p.Path }) {
			return p.Path
		}
		return p.Overlay
	})
}

func clustersOf(t *fleet.Tenant) []string {
	var all []string
	for _, p := range t.Places {
		all = append(all, p.Clusters...)
	}
	return all
}

func namespacesText(spec v1alpha1.TenantSpec) string {
	text := fmt.Sprint(1 + len(spec.Namespaces.Declared))
	if self := spec.Namespaces.SelfService; self != nil {
		text += fmt.Sprintf("+%d", self.Limit)
	}
	return text
}

func ownersText(spec v1alpha1.TenantSpec) string {
	return orNone(texts(spec.Owners, func(o v1alpha1.Owner) string {
		if o.Namespace != "" {
			return o.Namespace + "/" + o.Name
		}
		return o.Name
	}))
}

func newTenantShow(s Streams) *cobra.Command {
	var o fleetFlags
	var namespace, environment, output string
	c := &cobra.Command{
		Use: "show [NAME]", Short: "Show a tenant of the fleet: where it lives, and what it is there", Args: cobra.MaximumNArgs(1),
		Long: "Shows where a tenant is declared, in which environments it lives, and which files change it there.\n" +
			"With -o yaml or json it prints the Tenant as each cluster gets it, with all patches.",
		Example: "  tenantry tenant show oil\n  tenantry tenant show --namespace oil-web\n  tenantry tenant show oil --env production -o yaml",
	}
	c.Flags().StringVar(&namespace, "namespace", "", "the one tenant that has this namespace")
	c.Flags().StringVar(&environment, "env", "", "in this environment alone")
	c.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	o.addRead(c)
	c.ValidArgsFunction = completeFleetTenants(&o)
	c.RunE = func(_ *cobra.Command, args []string) error {
		f, err := o.load()
		if err != nil {
			return err
		}
		t, err := chosen(f, args, namespace)
		if err != nil {
			return err
		}
		return showTenant(s, f, t, environment, output)
	}
	return c
}

// chosen is the tenant named, or the one that has the namespace.
func chosen(f *fleet.Fleet, args []string, namespace string) (*fleet.Tenant, error) {
	switch {
	case len(args) == 1 && namespace != "":
		return nil, usagef("give a name or --namespace, not both")
	case namespace != "":
		return f.ByNamespace(namespace)
	case len(args) == 0:
		return nil, usagef("say which tenant: by its name, or by a namespace of it with --namespace")
	}
	if t := f.Tenant(args[0]); t != nil {
		return t, nil
	}
	return nil, f.NoTenant(args[0])
}

func showTenant(s Streams, f *fleet.Fleet, t *fleet.Tenant, environment, output string) error {
	places, err := f.PlacesIn(t, environment)
	if err != nil {
		return err
	}
	var effective []placedTenant
	for _, p := range places {
		e, err := f.Effective(p)
		if err != nil {
			return err
		}
		effective = append(effective, placedTenant{p, e})
	}
	declared, err := f.Declared(t)
	if err != nil {
		return err
	}
	if output != "" {
		return printEffective(s, t, output, effective)
	}
	d := newTable(s.Out)
	d.row("Name:", t.Name)
	d.row("Declared:", fmt.Sprintf("%s:%d", t.File, t.Line))
	d.row("Owners:", ownersText(declared.Spec))
	d.row("Namespaces:", strings.Join(append([]string{t.Name}, declared.Spec.Namespaces.Declared...), ", "))
	if self := declared.Spec.Namespaces.SelfService; self != nil {
		d.row("Self-service:", fmt.Sprintf("up to %d namespaces named %s-*", self.Limit, t.Name))
	}
	if err := d.flush(); err != nil {
		return err
	}
	return section(s.Out, []string{"ENVIRONMENT", "CLUSTERS", "SYNCS", "NAMESPACES", "PATCHES"}, effective, func(p placedTenant) []string {
		return []string{p.Overlay, orNone(p.Clusters), syncsText(p.Tenant.Spec.Syncs), namespacesText(p.Tenant.Spec), orNone(p.Patches)}
	})
}

// placedTenant is a tenant as it is in one place.
type placedTenant struct {
	fleet.Place
	Tenant *v1alpha1.Tenant `json:"tenant"`
}

func syncsText(syncs []v1alpha1.Sync) string {
	return orNone(texts(syncs, func(sync v1alpha1.Sync) string {
		src := sync.Source
		switch {
		case src.Git != nil:
			return sync.Name + " from " + src.Git.URL + " " + dash(sync.Path)
		case src.OCI != nil:
			return sync.Name + " from " + src.OCI.URL + " " + dash(sync.Path)
		case src.Bucket != nil:
			return sync.Name + " from " + src.Bucket.Endpoint + "/" + src.Bucket.Name + " " + dash(sync.Path)
		}
		return sync.Name
	}))
}

// printEffective prints a Tenant as its places get it: for people as documents, each
// under the place that it is of.
func printEffective(s Streams, t *fleet.Tenant, output string, effective []placedTenant) error {
	if output != "yaml" {
		return printAs(s.Out, output, struct {
			fleet.Tenant
			Places []placedTenant `json:"places"`
		}{*t, append([]placedTenant{}, effective...)})
	}
	for _, e := range effective {
		content, err := yaml.Marshal(e.Tenant)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.Out, "---\n# %s: %s\n%s", e.Overlay, orNone(e.Clusters), content); err != nil {
			return err
		}
	}
	return nil
}
