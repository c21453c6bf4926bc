// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/diff"
	"github.com/tenantry/tenantry/internal/render"
)

// renderOptions are the flags of render.
type renderOptions struct {
	source   sourceFlags
	clusters []string
	tenant   string
	output   string
	secrets  bool
	timeout  time.Duration
}

// rendered is an object of a cluster, for programs.
type rendered struct {
	Cluster string         `json:"cluster"`
	Tenant  string         `json:"tenant,omitempty"`
	Account string         `json:"account,omitempty"`
	Sync    string         `json:"sync,omitempty"`
	From    string         `json:"from"`
	Object  map[string]any `json:"object"`
}

func newRender(s Streams) *cobra.Command {
	var o renderOptions
	c := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Print what the clusters of a fleet get",
		Long: "Renders as Flux would, without a cluster: overlays, variables, Tenants compiled to their objects, and\n" +
			"HelmReleases whose charts are at hand. What stands in for the URLs of sources is named in tenantry.yaml\n" +
			"or with --map; what is not at hand is said on standard error, and not rendered.\n\n" +
			"Objects are printed by cluster, kind, namespace and name, so that two outputs can be compared. Values of\n" +
			"Secrets are masked.",
		Example: "  tenantry render --cluster staging\n  tenantry render --tenant oil -o json\n  tenantry render --cluster staging --tenant oil --map https://git.example.com/oil/apps=../apps",
		Args:    cobra.MaximumNArgs(1),
	}
	o.source.add(c)
	addTimeout(c, &o.timeout)
	f := c.Flags()
	f.StringSliceVar(&o.clusters, "cluster", nil, "clusters to render; by default all")
	f.StringVar(&o.tenant, "tenant", "", "only what is this tenant's")
	f.StringVarP(&o.output, "output", "o", "", "json or yaml; by default documents with comments")
	f.BoolVar(&o.secrets, "show-secrets", false, "print values of Secrets as they are in the repository")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains([]string{"", "json", "yaml"}, o.output) {
			return usagef("output %q is not known; use json or yaml", o.output)
		}
		dir, err := fleetDir(args)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), s, dir)
	}
	return c
}

func (o *renderOptions) run(ctx context.Context, s Streams, dir string) error {
	var clusters []*render.Cluster
	if err := within(ctx, o.timeout, func() (err error) {
		clusters, err = o.source.render(dir, o.clusters)
		return err
	}); err != nil {
		return err
	}
	var all []rendered
	for _, c := range clusters {
		for _, f := range c.Final() {
			if o.tenant != "" && f.Tenant != o.tenant {
				continue
			}
			r := rendered{Cluster: c.Name, Tenant: f.Tenant, Account: f.Account, Sync: f.Sync, From: f.From.String(), Object: f.Fields}
			if !o.secrets {
				r.Object = diff.Masked(r.Object, f.Hidden...)
			}
			all = append(all, r)
		}
	}
	if len(all) == 0 && o.tenant != "" {
		return fmt.Errorf("no cluster gets anything of a tenant %s", o.tenant)
	}
	if o.output != "" {
		if err := printAs(s.Out, o.output, all); err != nil {
			return err
		}
	} else if err := printRendered(s, all); err != nil {
		return err
	}
	return tellGaps(s, clusters)
}

// printRendered prints documents, each under a comment that says whose it is.
func printRendered(s Streams, all []rendered) error {
	for _, r := range all {
		content, err := sigsyaml.Marshal(r.Object)
		if err != nil {
			return err
		}
		of := ""
		if r.Tenant != "" {
			of = ", tenant " + r.Tenant
		}
		if r.Account != "" {
			of += ", as " + r.Account
		}
		if _, err := fmt.Fprintf(s.Out, "---\n# %s\n%s", legible(fmt.Sprintf("cluster %s%s: %s", r.Cluster, of, r.From)), content); err != nil {
			return err
		}
	}
	return nil
}

// tellGaps says what could not be rendered; it fails when something is broken.
func tellGaps(s Streams, clusters []*render.Cluster) error {
	told := map[string]bool{}
	say := func(format string, args ...any) {
		if line := legible(fmt.Sprintf(format, args...)); !told[line] {
			told[line] = true
			_, _ = fmt.Fprintln(s.Err, line) // nobody to tell
		}
	}
	broken := false
	for _, c := range clusters {
		for _, p := range c.Problems {
			if p.Rule == "patch-idle" || strings.HasPrefix(p.Rule, "dangling-") {
				continue // validate tells
			}
			broken = true
			say("%s: %s", p.Place, p.What)
		}
		for _, a := range c.Absent {
			say("not rendered: what %s %s brings: %s", a.Kind, a.URL, a.Why)
		}
		for _, r := range c.Releases {
			if r.Why != "" {
				say("not rendered: HelmRelease %s/%s: %s", r.Object.Namespace, r.Object.Name, r.Why)
			}
		}
	}
	if broken {
		return errors.New("not everything could be rendered: see above, or tenantry validate")
	}
	return nil
}

// fleetDir is the fleet that is named, or the one around the working directory.
func fleetDir(args []string) (string, error) {
	var o fleetFlags
	if len(args) > 0 {
		o.dir = args[0]
	} else if info, err := os.Stat("clusters"); err == nil && info.IsDir() {
		o.dir = "." // a fleet that somebody else made
	}
	dir, err := o.root()
	if err != nil {
		return "", err
	}
	return dir, checkDir(dir)
}

// render renders clusters of a fleet, whole.
func (o *sourceFlags) render(dir string, names []string) ([]*render.Cluster, error) {
	at, err := o.at(dir)
	if err != nil {
		return nil, err
	}
	return o.renderWith(dir, at, names)
}

func (o *sourceFlags) renderWith(dir string, at map[string]string, names []string) ([]*render.Cluster, error) {
	f, err := render.Open(dir, render.Options{Kubernetes: o.kubernetes, At: at, Now: time.Now(), Whole: true})
	if err != nil {
		return nil, usageError{err}
	}
	all := f.Names()
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no clusters: a fleet keeps one directory for each in clusters/", dir)
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, fmt.Errorf("the fleet has no cluster %s; it has %s", n, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		names = all
	}
	return f.Clusters(names...), nil
}
