// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/kube"
)

func newInstall(s Streams) *cobra.Command {
	var export, dryRun, noStamp bool
	var part string
	var audit []string
	c := &cobra.Command{
		Use:   "install",
		Short: "Put the Tenant API, roles and policies onto a cluster",
		Long: "Writes the Tenant API, the constant roles and the admission policies, sees that a request which\n" +
			"they must refuse is refused, and only then writes grants. Running it again repairs and upgrades.",
		Example: "  tenantry install --context production\n  tenantry install --export > infrastructure/tenantry/walls.yaml",
		Args:    cobra.NoArgs,
	}
	flags := addKubeFlags(c)
	c.Flags().BoolVar(&export, "export", false, "print the objects and talk to no cluster")
	c.Flags().StringVar(&part, "part", "all", "with --export: walls, grants or all; apply walls first")
	c.Flags().BoolVar(&noStamp, "no-stamp", false, "with --export: leave out the MutatingAdmissionPolicy, for Kubernetes before 1.36")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "have the API server check every object and keep none")
	c.Flags().StringSliceVar(&audit, "audit", nil, "rules (policy/rule) that warn, and go to the audit log, instead of denying; say it at every install")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if export {
			set, err := install.Objects(install.Options{Stamp: !noStamp, Audit: audit})
			if err != nil {
				return err
			}
			objects, err := partOf(set, part)
			if err != nil {
				return err
			}
			return printYAML(s.Out, objects)
		}
		cfg, err := flags.config()
		if err != nil {
			return err
		}
		installer, err := install.New(cfg)
		if err != nil {
			return err
		}
		end := newProgress(s.Err).Begin("install Tenantry on " + cfg.Host)
		set, err := installer.Install(cmd.Context(), dryRun, audit...)
		end(err)
		if err != nil {
			return err
		}
		for _, o := range set.All() {
			verb := "applied"
			if dryRun {
				verb = "would be applied"
			}
			if _, err := fmt.Fprintf(s.Out, "%s %s\n", kube.Describe(o), verb); err != nil {
				return err
			}
		}
		if !dryRun {
			_, err = fmt.Fprintln(s.Err, "Next: run the controller (tenantry controller) and declare a Tenant.")
		}
		return err
	}
	return c
}

func partOf(set install.Set, part string) ([]*unstructured.Unstructured, error) {
	switch part {
	case "walls":
		return set.Walls, nil
	case "grants":
		return set.Grants, nil
	case "all":
		return set.All(), nil
	default:
		return nil, usagef("part %q is not known; use walls, grants or all", part)
	}
}

// printYAML prints objects as documents.
func printYAML(w io.Writer, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		bytes, err := yaml.Marshal(o.Object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", bytes); err != nil {
			return err
		}
	}
	return nil
}

func newUninstall(s Streams) *cobra.Command {
	var force, dryRun bool
	c := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the Tenant API, roles and policies from a cluster",
		Long: "Removes grants first and walls last. Refuses while Tenants exist: without Tenantry their objects\n" +
			"would stay, and nothing would hold them.",
		Args: cobra.NoArgs,
	}
	flags := addKubeFlags(c)
	c.Flags().BoolVar(&force, "with-tenants", false, "remove it although Tenants exist; their namespaces and bindings stay")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be removed")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.config()
		if err != nil {
			return err
		}
		installer, err := install.New(cfg)
		if err != nil {
			return err
		}
		removed, err := installer.Uninstall(cmd.Context(), force, dryRun)
		for _, o := range removed {
			verb := "removed"
			if dryRun {
				verb = "would be removed"
			}
			if _, err := fmt.Fprintf(s.Out, "%s %s\n", kube.Describe(o), verb); err != nil {
				return err
			}
		}
		return err
	}
	return c
}
