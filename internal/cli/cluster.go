// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/fleet"
)

func newCluster(s Streams) *cobra.Command {
	return group("cluster", "Add, list and remove clusters of the fleet", newClusterCreate(s), newClusterList(s), newClusterDelete(s))
}

func newClusterCreate(s Streams) *cobra.Command {
	var o fleetFlags
	var of string
	c := &cobra.Command{
		Use: "create NAME --group GROUP", Short: "Add a cluster to a group", Args: cobra.ExactArgs(1),
		Long: "Writes clusters/NAME: what Flux starts from, under lockdown, and a kustomization that takes over\n" +
			"all of the group. What the cluster has otherwise than its group are patches in that kustomization,\n" +
			"and tenants of its own are in the overlay tenants/NAME, which `tenant create --clusters NAME` makes.",
		Example: "  tenantry cluster create iris-dev --group dev",
	}
	c.Flags().StringVar(&of, "group", "", "group that the cluster inherits from")
	o.addWrite(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if of == "" {
			return usagef("--group is missing: name the group that cluster %s inherits from", args[0])
		}
		return o.change(cmd.Context(), s, fmt.Sprintf("cluster %s: create in group %s", args[0], of),
			func(f *fleet.Fleet) error { return f.CreateCluster(args[0], of) },
			"tenantry up --cluster "+args[0]+"    on this machine, or",
			"flux bootstrap git --path=clusters/"+args[0]+" ...    on the cluster")
	}
	return c
}

// clusterRow is a cluster as `cluster list` tells of it.
type clusterRow struct {
	fleet.Cluster
	Tenants []string `json:"tenants"`
}

func newClusterList(s Streams) *cobra.Command {
	var o fleetFlags
	var output string
	c := &cobra.Command{Use: "list", Short: "List the fleet's clusters", Aliases: []string{"ls"}, Args: cobra.NoArgs}
	o.addRead(c)
	c.Flags().StringVarP(&output, "output", "o", "", "json, yaml or wide")
	c.RunE = func(*cobra.Command, []string) error {
		f, err := o.load()
		if err != nil {
			return err
		}
		var rows []clusterRow
		for _, cl := range f.Clusters {
			rows = append(rows, clusterRow{cl, f.TenantsOf(cl.Name)})
		}
		if output != "" && output != "wide" {
			return printAs(s.Out, output, rows)
		}
		header := []string{"NAME", "GROUP", "TENANTS", "PATH"}
		if output == "wide" {
			header = append(header, "OVERLAYS", "REPOSITORY")
		}
		t := newTable(s.Out, header...)
		for _, r := range rows {
			cells := []string{r.Name, dash(r.Group), fmt.Sprint(len(r.Tenants)), r.Path}
			if output == "wide" {
				cells[2] = orNone(r.Tenants)
				cells = append(cells, orNone(r.Overlays), r.URL+"@"+r.Branch)
			}
			t.row(cells...)
		}
		return t.flush()
	}
	return c
}

func newClusterDelete(s Streams) *cobra.Command {
	var o fleetFlags
	c := &cobra.Command{
		Use: "delete NAME", Short: "Remove a cluster from the fleet", Args: cobra.ExactArgs(1),
		Long: "Removes the cluster's directory, and the overlay with tenants of its own. The cluster itself keeps\n" +
			"what runs there: Flux, when its path is gone, says so and prunes nothing.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.change(cmd.Context(), s, "cluster "+args[0]+": delete", func(f *fleet.Fleet) error { return f.DeleteCluster(args[0]) })
		},
	}
	o.addWrite(c)
	return c
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
