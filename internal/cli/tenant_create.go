// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/schema"
)

// tenantOptions are the flags of tenant create.
type tenantOptions struct {
	fleetFlags
	placement

	groupOwners, userOwners, accountOwners []string
	namespaces, domains                    []string
	selfService                            int32
	quota, variables                       map[string]string
	url, branch, path, secret, sync        string
	targetNamespace                        string
	apply                                  bool
	timeout                                time.Duration
}

// placement says where in the fleet a tenant lives.
type placement struct{ clusters, groups, environments []string }

func (p *placement) addPlacement(c *cobra.Command) {
	c.Flags().StringSliceVar(&p.clusters, "clusters", nil, "clusters of the fleet; each gets an overlay of its own")
	c.Flags().StringSliceVar(&p.groups, "groups", nil, "groups of clusters")
	c.Flags().StringSliceVar(&p.environments, "env", nil, "environments, which are overlays by their names, as staging")
}

func (p *placement) given() bool { return len(p.clusters)+len(p.groups)+len(p.environments) > 0 }

// aboutFiles refuses to name a cluster for a command that writes files.
func aboutFiles(flags kubeFlags) error {
	if *flags.Context != "" || *flags.KubeConfig != "" {
		return usagef("a cluster is named, and this writes the fleet's files: give --apply to change the cluster, or leave out --context and --kubeconfig")
	}
	return nil
}

func newTenantCreate(s Streams, flags kubeFlags) *cobra.Command {
	var o tenantOptions
	c := &cobra.Command{
		Use: "create NAME", Short: "Onboard a tenant: write it into the fleet", Aliases: []string{"add"}, Args: cobra.MaximumNArgs(1),
		Long: "Writes tenants/base/NAME and registers it in the overlays of the clusters, groups or environments\n" +
			"named, or in all of them. What differs between environments, the path of the sync, stands in a\n" +
			"patch in each overlay. A tenant that the fleet has is given the places that it lacks.\n\n" +
			"On a terminal, without a name, it asks. With --apply it writes no file, and declares the tenant\n" +
			"on the cluster.",
		Example: "  tenantry tenant create oil --owner-group oil-team --git https://git.example.com/oil/apps --env staging,production\n" +
			"  tenantry tenant create shop81 --namespace shop81-web --git https://git.example.com/platform/apps --path ./per-tenant \\\n" +
			"      --set GREETING=hello --target-namespace shop81-web\n" +
			"  tenantry tenant create oil --apply --context laptop",
	}
	f := c.Flags()
	f.StringSliceVar(&o.groupOwners, "owner-group", nil, "groups that own the tenant")
	f.StringSliceVar(&o.userOwners, "owner-user", nil, "users that own the tenant")
	f.StringSliceVar(&o.accountOwners, "owner-account", nil, "accounts that own the tenant, as NAMESPACE/NAME")
	f.StringSliceVar(&o.namespaces, "namespace", nil, "namespaces that the platform declares, beside the home namespace NAME")
	f.Int32Var(&o.selfService, "self-service", 0, "how many namespaces NAME-* the tenant may make by itself (0: none)")
	f.StringSliceVar(&o.domains, "domain", nil, "domains of the tenant's Ingresses and routes")
	f.StringToStringVar(&o.quota, "quota", nil, "hard limits of each namespace, as pods=50,requests.cpu=8")
	f.StringVar(&o.url, "git", "", "URL of the tenant's Git repository")
	f.StringVar(&o.branch, "branch", "", "branch to follow (default main)")
	f.StringVar(&o.path, "path", "./"+fleet.EnvVariable, "path in it; "+fleet.EnvVariable+" stands for the environment's name")
	f.StringVar(&o.secret, "git-secret", "", "Secret in the home namespace with credentials for the repository")
	f.StringVar(&o.sync, "sync", "apps", "name of the sync")
	f.StringToStringVar(&o.variables, "set", nil, "variables for the manifests, as NAME=VALUE")
	f.StringVar(&o.targetNamespace, "target-namespace", "", "namespace of the tenant that all objects of the repository go to")
	f.BoolVar(&o.apply, "apply", false, "declare the tenant on the cluster and write no file")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "with --apply: how long to wait until it is Ready")
	o.addPlacement(c)
	o.addWrite(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := o.nameOf(cmd, s, args)
		if err != nil {
			return err
		}
		if err := o.check(cmd); err != nil {
			return err
		}
		t, syncs, err := o.tenant(name)
		if err != nil {
			return err
		}
		if o.apply {
			t.Spec.Syncs = append(t.Spec.Syncs, syncs...)
			return applyTenant(cmd.Context(), s, flags, t, o)
		}
		if err := aboutFiles(flags); err != nil {
			return err
		}
		return o.change(cmd.Context(), s, "tenant "+name+": create", func(f *fleet.Fleet) error {
			overlays, err := f.OverlaysFor(o.clusters, o.groups, o.environments)
			if err != nil {
				return err
			}
			return f.CreateTenant(fleet.Onboarding{Tenant: t, Overlays: overlays, Syncs: syncs})
		}, "review and commit the files; Flux does the rest", "tenantry tenant show "+name)
	}
	return c
}

// nameOf is the name given, or what the interview says.
func (o *tenantOptions) nameOf(cmd *cobra.Command, s Streams, args []string) (string, error) {
	switch {
	case len(args) == 1:
		return args[0], nil
	case interactive(s) && cmd.Flags().NFlag() == 0:
		return interview(s, o)
	default:
		return "", usagef("the tenant's name is missing; see %s --help", cmd.CommandPath())
	}
}

func (o *tenantOptions) check(cmd *cobra.Command) error {
	sync := []string{"branch", "path", "git-secret", "sync", "set", "target-namespace"}
	changed := cmd.Flags().Changed
	if i := slices.IndexFunc(sync, changed); o.url == "" && i >= 0 {
		return usagef("--%s says how to sync, and --git, what to sync, is missing", sync[i])
	}
	if !o.apply {
		return nil
	}
	for _, name := range []string{"fleet", "clusters", "groups", "env", "commit", "push", "message"} {
		if changed(name) {
			return usagef("--%s is about the fleet's files, and --apply writes none: leave one of them out", name)
		}
	}
	if o.url != "" && !changed("path") {
		o.path = "./"
	}
	return nil
}

// tenant is what the flags say: the tenant as it is everywhere, and syncs that differ
// between environments.
func (o *tenantOptions) tenant(name string) (*v1alpha1.Tenant, []v1alpha1.Sync, error) {
	t := &v1alpha1.Tenant{}
	t.Name = name
	for _, g := range o.groupOwners {
		t.Spec.Owners = append(t.Spec.Owners, v1alpha1.Owner{Kind: v1alpha1.OwnerGroup, Name: g})
	}
	for _, u := range o.userOwners {
		t.Spec.Owners = append(t.Spec.Owners, v1alpha1.Owner{Kind: v1alpha1.OwnerUser, Name: u})
	}
	for _, a := range o.accountOwners {
		owner, err := accountOwner(a)
		if err != nil {
			return nil, nil, err
		}
		t.Spec.Owners = append(t.Spec.Owners, owner)
	}
	t.Spec.Namespaces.Declared, t.Spec.Domains = o.namespaces, o.domains
	if o.selfService != 0 {
		t.Spec.Namespaces.SelfService = &v1alpha1.SelfService{Limit: o.selfService}
	}
	for _, k := range slices.Sorted(maps.Keys(o.quota)) {
		q, err := resource.ParseQuantity(o.quota[k])
		if err != nil {
			return nil, nil, usagef("--quota %s=%s: want an amount, as 8, 500m or 16Gi", k, o.quota[k])
		}
		if t.Spec.Quota == nil {
			t.Spec.Quota = corev1.ResourceList{}
		}
		t.Spec.Quota[corev1.ResourceName(k)] = q
	}
	if o.url == "" {
		return t, nil, nil
	}
	sync := v1alpha1.Sync{
		Name: o.sync, Path: o.path, TargetNamespace: o.targetNamespace, Substitute: o.variables,
		Source: v1alpha1.Source{Git: &v1alpha1.GitSource{URL: o.url}},
	}
	if o.branch != "" {
		sync.Source.Git.Ref = &v1alpha1.GitRef{Branch: o.branch}
	}
	if o.secret != "" {
		sync.Source.Git.SecretRef = &v1alpha1.LocalReference{Name: o.secret}
	}
	if strings.Contains(sync.Path, fleet.EnvVariable) {
		return t, []v1alpha1.Sync{sync}, nil
	}
	t.Spec.Syncs = []v1alpha1.Sync{sync}
	return t, nil, nil
}

func accountOwner(text string) (v1alpha1.Owner, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" {
		return v1alpha1.Owner{}, usagef("account %q: want NAMESPACE/NAME", text)
	}
	return v1alpha1.Owner{Kind: v1alpha1.OwnerServiceAccount, Namespace: namespace, Name: name}, nil
}

// cliManager owns the fields that people set with --apply: the controller's own manager
// is for what it compiles.
const cliManager = client.FieldOwner(v1alpha1.CLIManager)

// applyTenant declares a tenant on a cluster and waits for it.
func applyTenant(ctx context.Context, s Streams, flags kubeFlags, t *v1alpha1.Tenant, o tenantOptions) error {
	if err := schema.Tenant(t); err != nil {
		return fmt.Errorf("tenant %s: %w", t.Name, err)
	}
	c, err := flags.client()
	if err != nil {
		return err
	}
	opts := []client.CreateOption{cliManager}
	if o.dryRun {
		opts = append(opts, client.DryRunAll)
	}
	err = c.Create(ctx, t, opts...)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the cluster has a tenant %s: change it with `tenantry tenant owner|namespace --apply` or kubectl edit", t.Name)
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return explain(err, t.Name)
	}
	if err != nil {
		return err
	}
	if o.dryRun {
		_, err := fmt.Fprintf(s.Out, "Tenant %s would be created\n", t.Name)
		return err
	}
	if _, err := fmt.Fprintf(s.Out, "Tenant %s created\n", t.Name); err != nil {
		return err
	}
	return awaitTenant(ctx, s, c, t.Name, o.timeout)
}

func awaitTenant(ctx context.Context, s Streams, c client.Client, name string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	end := newProgress(s.Err).Begin("wait for tenant " + name)
	err := func() error {
		for {
			t, err := getTenant(ctx, c, name)
			if err != nil && ctx.Err() == nil {
				return err
			}
			status, message := conditionOf(t, v1alpha1.ReadyCondition)
			if err == nil && status == "True" && t.Status.ObservedGeneration == t.Generation {
				return nil
			}
			select {
			case <-ctx.Done():
				if message == "" {
					message = "no controller has looked at it: run `tenantry controller`"
				}
				return errors.New("it is not Ready: " + message)
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	end(err)
	return err
}
