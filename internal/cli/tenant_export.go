// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/facts"
	"github.com/tenantry/tenantry/internal/fleet"
)

// exportOptions are the flags of tenant export.
type exportOptions struct {
	fleet       fleetFlags
	environment string
	static      bool
}

func newTenantExport(s Streams, flags kubeFlags) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export FILE|NAME",
		Short: "Print every object that a tenant compiles to",
		Long: "Prints the very objects that the controller writes, in the order in which it writes them. From a\n" +
			"FILE (or - for standard input) and from the fleet no cluster is needed; by NAME outside of a fleet,\n" +
			"or with --context, the cluster's Tenant is compiled with the namespaces that it has there.\n\n" +
			"With --static they are manifests for a cluster that runs no controller: namespaces, account and\n" +
			"labels as `flux create tenant` names them, without the controller's bookkeeping. The cluster needs\n" +
			"the walls of `tenantry install --export --part walls` first, which hold there as everywhere.",
		Example: "  tenantry tenant export tenants/base/oil/tenant.yaml\n  tenantry tenant export oil --env staging --static > oil.yaml\n  tenantry tenant export oil --context production",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: completeTenants(flags),
	}
	c.Flags().BoolVar(&o.static, "static", false, "manifests for a cluster that runs no controller")
	c.Flags().StringVar(&o.environment, "env", "", "environment of the fleet that the tenant is exported for")
	o.fleet.addRead(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir := fleetOf(&o.fleet, flags)
		switch {
		case isFile(args[0]):
			tenants, err := readTenants(s.In, args[0])
			if err != nil {
				return err
			}
			for _, t := range tenants {
				if err := exportTenant(s, t, compile.Facts{Now: time.Now()}, o.static); err != nil {
					return err
				}
			}
			return nil
		case dir != "":
			t, err := o.fromFleet(dir, args[0])
			if err != nil {
				return err
			}
			return exportTenant(s, t, compile.Facts{Now: time.Now()}, o.static)
		case o.environment != "":
			return usagef("--env is about a fleet: there is none here, or a cluster is named")
		}
		return exportLive(cmd.Context(), s, flags, args[0], o.static)
	}
	return c
}

// fromFleet is a tenant as it is in one environment.
func (o *exportOptions) fromFleet(dir, name string) (*v1alpha1.Tenant, error) {
	f, err := fleet.Load(dir)
	if err != nil {
		return nil, err
	}
	t := f.Tenant(name)
	if t == nil {
		return nil, f.NoTenant(name)
	}
	places, err := f.PlacesIn(t, o.environment)
	switch {
	case err != nil:
		return nil, err
	case len(places) > 1:
		return nil, usagef("tenant %s lives in %s: say which with --env", name, strings.Join(environmentsOf(t), ", "))
	case len(places) == 0:
		return f.Declared(t)
	}
	return f.Effective(places[0])
}

func exportLive(ctx context.Context, s Streams, flags kubeFlags, name string, static bool) error {
	c, err := flags.client()
	if err != nil {
		return err
	}
	t, err := getTenant(ctx, c, name)
	if err != nil {
		return err
	}
	facts, err := liveFacts(ctx, c, t)
	if err != nil {
		return err
	}
	return exportTenant(s, t, facts, static)
}

func isFile(arg string) bool {
	if arg == "-" || strings.ContainsAny(arg, "/\\") || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}

func exportTenant(s Streams, t *v1alpha1.Tenant, facts compile.Facts, static bool) error {
	if static && t.Spec.Namespaces.SelfService != nil {
		t = t.DeepCopy()
		t.Spec.Namespaces.SelfService = nil
		if _, err := fmt.Fprintf(s.Err, "Tenant %s makes no namespaces there: without a controller nobody would give it access to them.\n", t.Name); err != nil {
			return err
		}
	}
	objects := compile.Tenant(t, facts).Objects()
	if p := compile.Provisioners(compile.Shard(t.Name), []*v1alpha1.Tenant{t}); p != nil {
		objects = append(objects, p)
	}
	for _, o := range objects {
		if static {
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", v1alpha1.HashAnnotation)
			if len(o.GetAnnotations()) == 0 {
				unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
			}
		}
	}
	return printYAML(s.Out, objects)
}

// readTenants reads the Tenants of a file, strictly: an export of half of what was
// meant is worse than none.
func readTenants(in io.Reader, path string) ([]*v1alpha1.Tenant, error) {
	content, err := readInput(in, path)
	if err != nil {
		return nil, err
	}
	var tenants []*v1alpha1.Tenant
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	line := 1
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		start := line
		line += bytes.Count(document, []byte("\n")) + 1
		kind := metav1.TypeMeta{}
		if err := sigsyaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, start, err)
		}
		if kind.Kind != "Tenant" || kind.APIVersion != v1alpha1.GroupVersion.String() {
			continue
		}
		t := &v1alpha1.Tenant{}
		if err := sigsyaml.UnmarshalStrict(document, t); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, start, err)
		}
		if t.Name == "" {
			return nil, fmt.Errorf("%s:%d: the Tenant has no metadata.name", path, start)
		}
		tenants = append(tenants, t)
	}
	if len(tenants) == 0 {
		return nil, fmt.Errorf("%s holds no Tenant (%s, kind Tenant)", path, v1alpha1.GroupVersion)
	}
	return tenants, nil
}

func readInput(in io.Reader, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(path)
}

// liveFacts are the facts that the controller would compile with.
func liveFacts(ctx context.Context, c client.Client, t *v1alpha1.Tenant) (compile.Facts, error) {
	known := compile.Facts{Now: time.Now()}
	var err error
	if known.Defaults, err = facts.Defaults(ctx, c); err != nil {
		return known, err
	}
	namespaces := &corev1.NamespaceList{}
	if err := c.List(ctx, namespaces); err != nil {
		return known, err
	}
	bindings := &rbacv1.RoleBindingList{}
	if err := c.List(ctx, bindings, client.MatchingLabels(compile.ManagedLabels(t.Name))); err != nil {
		return known, err
	}
	held := map[string][]string{}
	for i := range namespaces.Items {
		ns := &namespaces.Items[i]
		held[ns.Name] = compile.Held(ns)
		switch {
		case ns.Labels[v1alpha1.TenantLabel] != t.Name:
			if strings.HasPrefix(ns.Name, t.Name+"-") {
				known.Strangers = append(known.Strangers, ns.Name)
			}
		case !compile.System(ns.Name):
			known.Namespaces = append(known.Namespaces, compile.Observe(ns, slices.ContainsFunc(bindings.Items, func(b rbacv1.RoleBinding) bool {
				return b.Namespace == ns.Name && b.Name == compile.RoleAdmin
			})))
		}
	}
	tenants := &v1alpha1.TenantList{}
	if err := c.List(ctx, tenants); err != nil {
		return known, err
	}
	var others []compile.Claim
	for i := range tenants.Items {
		o := &tenants.Items[i]
		others = append(others, compile.Claim{Tenant: o, Held: held[o.Name]})
	}
	known.TakenDomains = compile.TakenDomains(compile.Claim{Tenant: t, Held: held[t.Name]}, others)
	return known, nil
}
