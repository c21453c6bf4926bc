// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/install"
)

// initOptions are the flags of init.
type initOptions struct {
	fleetFlags
	clusters, groups, environments []string
	tenant, url, branch, age       string
	force                          bool
}

func newInit(s Streams) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init DIR",
		Short: "Make a fleet repository, or a tenant's with --tenant",
		Long: "Writes an admin repository into DIR: clusters and the groups that they inherit from, Tenantry's\n" +
			"walls and grants, Flux's lockdown, overlays for tenants, and what surrounds them. It converges\n" +
			"under `tenantry up` as it is.\n\n" +
			"A cluster is named NAME or NAME=GROUP. Without GROUP it is of the group of its own name.\n" +
			"With --groups and no --clusters there is one cluster for each group.\n\n" +
			"With --tenant NAME it writes the repository of a tenant instead: a base, and a directory for\n" +
			"each of --env.",
		Example: "  tenantry init fleet --clusters staging,production --git https://git.example.com/platform/fleet\n" +
			"  tenantry init fleet --clusters iris-dev=dev,iris-test=test --groups infra-ops\n" +
			"  tenantry init --tenant oil oil-apps --env staging,production",
		Args: cobra.ExactArgs(1),
	}
	f := c.Flags()
	f.StringSliceVar(&o.clusters, "clusters", nil, "clusters, each NAME or NAME=GROUP (default staging,production)")
	f.StringSliceVar(&o.groups, "groups", nil, "groups of clusters")
	f.StringVar(&o.url, "git", "", "URL of this repository; by default that of the remote origin in DIR")
	f.StringVar(&o.branch, "branch", "main", "branch that clusters follow")
	f.StringVar(&o.age, "age", "", "age public key that secrets in the repository are encrypted for")
	f.StringVar(&o.tenant, "tenant", "", "make the repository of this tenant")
	f.StringSliceVar(&o.environments, "env", []string{"staging", "production"}, "with --tenant: its environments")
	f.BoolVar(&o.force, "force", false, "write over files that are there")
	o.addResult(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if o.tenant != "" {
			return initTenant(cmd, s, o, args[0])
		}
		if cmd.Flags().Changed("env") {
			return usagef("--env goes with --tenant; a fleet's environments are its --groups")
		}
		return initFleet(cmd.Context(), s, o, args[0])
	}
	return c
}

func initTenant(cmd *cobra.Command, s Streams, o initOptions, dir string) error {
	for _, name := range []string{"clusters", "groups", "git", "branch", "age"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is for a fleet; a tenant's repository knows nothing of it", name)
		}
	}
	f, err := fleet.InitTenant(dir, o.tenant, o.environments, o.force)
	if err != nil {
		return err
	}
	return o.write(cmd.Context(), s, f, "tenant "+o.tenant+": its repository",
		"commit and push it, and have the platform sync it: tenantry tenant create "+o.tenant+" --git URL")
}

func initFleet(ctx context.Context, s Streams, o initOptions, dir string) error {
	members, err := membersOf(o.clusters, o.groups)
	if err != nil {
		return err
	}
	walls, grants, err := exports()
	if err != nil {
		return err
	}
	if o.url == "" {
		o.url = originOf(ctx, dir)
	}
	f, err := fleet.Init(dir, fleet.InitOptions{
		Clusters: members, Groups: o.groups, URL: o.url, Branch: o.branch, Age: o.age, Walls: walls, Grants: grants,
	}, o.force)
	if err != nil {
		return err
	}
	next := []string{"look at it on this machine:  tenantry up --fleet " + dir, "onboard a tenant:            cd " + dir + " && tenantry tenant create"}
	if o.url == fleet.PlaceholderURL {
		next = append(next, "say where it will be:        "+fleet.PlaceholderURL+" is a placeholder, in tenantry.yaml and clusters/*/flux-system/gotk-sync.yaml")
	}
	return o.finish(ctx, s, f, "a fleet: "+strings.Join(texts(members, func(m fleet.Member) string { return m.Name }), ", "), next...)
}

// membersOf reads NAME and NAME=GROUP.
func membersOf(clusters, groups []string) ([]fleet.Member, error) {
	switch {
	case len(clusters) == 0 && len(groups) > 0:
		clusters = groups
	case len(clusters) == 0:
		clusters = []string{"staging", "production"}
	}
	var all []fleet.Member
	for _, c := range clusters {
		name, group, ok := strings.Cut(c, "=")
		if !ok {
			group = name
		}
		if name == "" || group == "" {
			return nil, usagef("--clusters %q: want NAME or NAME=GROUP", c)
		}
		if !ok && len(groups) > 0 && !slices.Contains(groups, name) {
			return nil, usagef("--clusters %s: say its group, as %s=%s; the groups are %s", c, c, groups[0], strings.Join(groups, ", "))
		}
		if slices.ContainsFunc(all, func(m fleet.Member) bool { return m.Name == name }) {
			return nil, usagef("--clusters names %s twice", name)
		}
		all = append(all, fleet.Member{Name: name, Group: group})
	}
	return all, nil
}

// exports are what `install --export` prints.
func exports() (walls, grants []byte, err error) {
	set, err := install.Objects(install.Options{Stamp: true})
	if err != nil {
		return nil, nil, err
	}
	var w, g bytes.Buffer
	if err := printYAML(&w, set.Walls); err != nil {
		return nil, nil, err
	}
	err = printYAML(&g, set.Grants)
	return w.Bytes(), g.Bytes(), err
}

// originOf is the URL of a directory's Git remote, without credentials, or the placeholder.
func originOf(ctx context.Context, dir string) string {
	for ; dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
	}
	out, err := exec.CommandContext(ctx, "git", "-C", dir, "remote", "get-url", "origin").Output()
	if err != nil {
		return fleet.PlaceholderURL
	}
	return fleet.CleanURL(strings.TrimSpace(string(out)))
}
