// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/migrate"
)

// importOptions are the flags of import.
type importOptions struct {
	fleetFlags
	placement
	live    bool
	output  string
	renamed map[string]string
}

// origin is a tool whose tenants can be imported.
type origin struct {
	use, short, long, example string
	read                      func(paths []string) ([]fleet.Object, error)
	convert                   func([]migrate.Document) (migrate.Result, error)
	live                      []schema.GroupVersionKind // kinds to read from a cluster; none when it can't be
}

var origins = []origin{
	{
		use: "flux DIR", short: "Import tenants of `flux create tenant` and the flux2-multi-tenancy layout",
		long: "Renders each overlay in DIR/tenants, or reads DIR as it is, and takes over the namespaces, accounts,\n" +
			"bindings, sources and Kustomizations of tenants: objects in namespaces labelled toolkit.fluxcd.io/tenant.",
		example: "  tenantry import flux ../flux2-multi-tenancy --fleet . --dry-run",
		read: func(paths []string) ([]fleet.Object, error) {
			var all []fleet.Object
			for _, p := range paths {
				found, err := fleet.Rendered(p)
				if err != nil {
					return nil, err
				}
				all = append(all, found...)
			}
			return all, nil
		},
		convert: migrate.Flux,
	},
	{
		use: "capsule [FILE|DIR...]", short: "Import Capsule's Tenants, from files or with --live from a cluster",
		long: "Takes over Tenants of capsule.clastix.io, and reads what belongs to them: TenantOwners, the\n" +
			"configuration, replications, proxy settings, and the namespaces that they have.",
		example: "  tenantry import capsule tenants.yaml\n  tenantry import capsule --live --context production --env production",
		read:    objectsOf,
		convert: migrate.Capsule,
		live: []schema.GroupVersionKind{
			{Group: "capsule.clastix.io", Version: "v1beta2", Kind: "Tenant"},
			{Group: "capsule.clastix.io", Version: "v1beta2", Kind: "TenantOwner"},
			{Group: "capsule.clastix.io", Version: "v1beta2", Kind: "CapsuleConfiguration"},
			{Group: "capsule.clastix.io", Version: "v1beta2", Kind: "GlobalTenantResource"},
			{Group: "capsule.clastix.io", Version: "v1beta2", Kind: "TenantResource"},
			{Group: "capsule.clastix.io", Version: "v1beta1", Kind: "ProxySetting"},
			{Group: "capsule.clastix.io", Version: "v1beta1", Kind: "GlobalProxySettings"},
			{Version: "v1", Kind: "Namespace"},
		},
	},
	{
		use: "tmc FILE|DIR...", short: "Import workspaces, IAM and policies of Tanzu Mission Control, and tenants of its charts",
		long: "Reads the files that `tanzu tmc` takes, TMCNamespaces, and values of a chart that makes tenants.\n" +
			"What is in clusters/NAME/ is of cluster NAME.",
		example: "  tenantry import tmc ../flux-tmc-multitenant --map eks.team.us-west-2.iris-dev=iris-dev",
		read:    objectsOf,
		convert: migrate.TMC,
	},
}

func newImport(s Streams) *cobra.Command {
	c := group("import", "Write Tenants for what another tool made of tenants")
	c.Long = "Writes tenants into the fleet and a report of what has no equivalent, what becomes stricter and what\n" +
		"a person has to do. Nothing is overwritten, and nothing is left out without being told."
	for _, o := range origins {
		c.AddCommand(newImportFrom(s, o))
	}
	return c
}

// objectsOf reads files; what stands in clusters/NAME is of that cluster.
func objectsOf(paths []string) ([]fleet.Object, error) {
	objects, err := fleet.Objects(paths...)
	for i := range objects {
		parts := strings.Split(path.Clean(strings.ReplaceAll(objects[i].File, "\\", "/")), "/")
		if at := slices.Index(parts, "clusters"); at >= 0 && at+2 < len(parts) {
			objects[i].Environment = parts[at+1]
		}
	}
	return objects, err
}

func newImportFrom(s Streams, from origin) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: from.use, Short: from.short, Long: from.long, Example: from.example, Args: cobra.MinimumNArgs(1),
	}
	var flags kubeFlags
	if from.live != nil {
		c.Args = cobra.ArbitraryArgs
		flags = addKubeFlags(c)
		c.Flags().BoolVar(&o.live, "live", false, "read the cluster instead of files")
	}
	o.addPlacement(c)
	c.Flags().StringToStringVar(&o.renamed, "map", nil, "environments there and what they are here, as FROM=TO: an environment, a group or a cluster of the fleet")
	c.Flags().StringVarP(&o.output, "output", "o", "", "json or yaml: print the report for programs")
	o.addWrite(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if o.live == (len(args) > 0) {
			return usagef("name files, or give --live to read a cluster")
		}
		if !isOneOf(o.output, "", "json", "yaml") {
			return usagef("output %q is not known; use json or yaml", o.output)
		}
		documents, err := o.documents(cmd.Context(), flags, from, args)
		if err != nil {
			return err
		}
		result, err := from.convert(documents)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), s, cmd.Name(), result)
	}
	return c
}

// documents are what is imported.
func (o *importOptions) documents(ctx context.Context, flags kubeFlags, from origin, args []string) ([]migrate.Document, error) {
	if o.live {
		c, err := flags.client()
		if err != nil {
			return nil, err
		}
		return liveDocuments(ctx, c, from.live)
	}
	objects, err := from.read(args)
	if err != nil {
		return nil, err
	}
	var all []migrate.Document
	for _, object := range objects {
		fields, err := asJSON(object.Fields)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", object.Place(), err)
		}
		all = append(all, migrate.Document{Place: object.Place(), Environment: object.Environment, Object: fields})
	}
	return all, nil
}

// asJSON gives numbers the types that Kubernetes' own decoders give them.
func asJSON(fields map[string]any) (map[string]any, error) {
	content, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if _, hasKind := fields["kind"]; hasKind {
		err = u.UnmarshalJSON(content)
		return u.Object, err
	}
	all := map[string]any{}
	err = json.Unmarshal(content, &all)
	return all, err
}

// liveDocuments are the objects of kinds on a cluster; a kind that it doesn't have, has none.
func liveDocuments(ctx context.Context, c client.Client, kinds []schema.GroupVersionKind) ([]migrate.Document, error) {
	var all []migrate.Document
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, list); err != nil {
			if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				continue
			}
			return nil, err
		}
		for _, item := range list.Items {
			if kind.Kind == "Namespace" && item.GetLabels()["capsule.clastix.io/tenant"] == "" {
				continue
			}
			item.SetManagedFields(nil)
			all = append(all, migrate.Document{Place: "cluster", Object: item.Object})
		}
	}
	return all, nil
}

// run writes the tenants and tells of the rest. The report comes first: whoever reads
// it may not want the files.
func (o *importOptions) run(ctx context.Context, s Streams, tool string, result migrate.Result) error {
	if err := printReport(s, o.output, result); err != nil {
		return err
	}
	var names []string
	for _, t := range result.Tenants {
		names = append(names, t.Tenant.Name)
	}
	quiet := s
	if o.output != "" {
		quiet.Out = s.Err // what is for programs stays alone
	}
	return o.change(ctx, quiet, "import from "+tool+": "+strings.Join(names, ", "), func(f *fleet.Fleet) error {
		for _, t := range result.Tenants {
			if err := o.onboard(f, t); err != nil {
				return err
			}
		}
		return nil
	}, "do what the report leaves to you, then review and commit the files")
}

// onboard puts an imported tenant into its environments.
func (o *importOptions) onboard(f *fleet.Fleet, t migrate.Tenant) error {
	// What is imported is all of a tenant: one that the fleet has under its name, and
	// that is not the same, is refused.
	on := fleet.Onboarding{Tenant: t.Tenant, SyncsIn: map[string][]v1alpha1.Sync{}}
	if t.Environments == nil {
		overlays, err := f.OverlaysFor(o.clusters, o.groups, o.environments)
		if err != nil {
			return err
		}
		on.Overlays = overlays
		return f.CreateTenant(on)
	}
	if o.given() {
		return usagef("it says itself where its tenants are: name what its environments are here with --map, and leave out --env, --groups and --clusters")
	}
	for _, env := range t.Environments {
		overlay, err := o.overlayFor(f, env)
		if err != nil {
			return fmt.Errorf("tenant %s is in %s there: %w; say what it is here with --map %s=NAME", t.Tenant.Name, env, err, env)
		}
		if !slices.Contains(on.Overlays, overlay) {
			on.Overlays = append(on.Overlays, overlay)
		}
		syncs := t.Syncs[env]
		if there, ok := on.SyncsIn[overlay]; ok && !apiequality.Semantic.DeepEqual(there, syncs) {
			return fmt.Errorf("tenant %s: several of its environments are %s here, and their syncs differ: give each a place of its own with --map", t.Tenant.Name, overlay)
		}
		on.SyncsIn[overlay] = syncs
	}
	return f.CreateTenant(on)
}

// overlayFor is what an environment elsewhere is in this fleet.
func (o *importOptions) overlayFor(f *fleet.Fleet, env string) (string, error) {
	name := env
	if to, ok := o.renamed[env]; ok {
		name = to
	}
	for _, try := range []placement{{environments: []string{name}}, {groups: []string{name}}, {clusters: []string{name}}} {
		if overlays, err := f.OverlaysFor(try.clusters, try.groups, try.environments); err == nil {
			return overlays[0], nil
		}
	}
	return "", fmt.Errorf("the fleet has no environment, group or cluster %s", name)
}
