// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/fleet"
)

func newGroup(s Streams) *cobra.Command {
	return group("group", "Make, list and switch groups of clusters in the fleet",
		newGroupCreate(s), newGroupList(s), newGroupDelete(s), newGroupSwitch(s, true), newGroupSwitch(s, false))
}

func newGroupCreate(s Streams) *cobra.Command {
	var o fleetFlags
	on := map[fleet.Part]*bool{}
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a group of clusters", Args: cobra.ExactArgs(1),
		Long: "Writes groups/NAME, which clusters of the group inherit, and tenants/NAME, the overlay with their\n" +
			"tenants. Parts that are switched off here are switched on later with `tenantry group enable`.",
		Example: "  tenantry group create dev\n  tenantry group create infra-ops --tenants=false",
	}
	for _, p := range fleet.AllParts {
		on[p] = c.Flags().Bool(string(p), true, map[fleet.Part]string{
			fleet.Delivery:       "Flux applies what the group has",
			fleet.Infrastructure: "clusters get Tenantry's walls and grants",
			fleet.Tenants:        "clusters get the group's tenants",
		}[p])
	}
	o.addWrite(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var parts []fleet.Part
		for _, p := range fleet.AllParts {
			if *on[p] {
				parts = append(parts, p)
			}
		}
		if *on[fleet.Tenants] && !*on[fleet.Infrastructure] {
			return usagef("a group with tenants needs infrastructure: it is the walls between them")
		}
		return o.change(cmd.Context(), s, "group "+args[0]+": create",
			func(f *fleet.Fleet) error { return f.CreateGroup(args[0], parts) },
			"tenantry cluster create NAME --group "+args[0])
	}
	return c
}

func newGroupList(s Streams) *cobra.Command {
	var o fleetFlags
	var output string
	c := &cobra.Command{Use: "list", Short: "List the fleet's groups", Aliases: []string{"ls"}, Args: cobra.NoArgs}
	o.addRead(c)
	c.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	c.RunE = func(*cobra.Command, []string) error {
		f, err := o.load()
		if err != nil {
			return err
		}
		if output != "" {
			return printAs(s.Out, output, append([]fleet.Group{}, f.Groups...))
		}
		if len(f.Groups) == 0 {
			_, err := fmt.Fprintln(s.Err, "No groups.")
			return err
		}
		t := newTable(s.Out, "NAME", "DELIVERY", "INFRASTRUCTURE", "TENANTS", "CLUSTERS", "PATH")
		for _, g := range f.Groups {
			cells := []string{g.Name}
			for _, p := range fleet.AllParts {
				cells = append(cells, onOff(slices.Contains(g.Parts, p)))
			}
			t.row(append(cells, orNone(g.Clusters), g.Path)...)
		}
		return t.flush()
	}
	return c
}

func newGroupDelete(s Streams) *cobra.Command {
	var o fleetFlags
	c := &cobra.Command{
		Use: "delete NAME", Short: "Remove a group without clusters", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.change(cmd.Context(), s, "group "+args[0]+": delete", func(f *fleet.Fleet) error { return f.DeleteGroup(args[0]) })
		},
	}
	o.addWrite(c)
	return c
}

func newGroupSwitch(s Streams, on bool) *cobra.Command {
	var o fleetFlags
	verb, does := "disable", "Switch a part of a group off"
	if on {
		verb, does = "enable", "Switch a part of a group on"
	}
	c := &cobra.Command{
		Use: verb + " NAME delivery|infrastructure|tenants", Short: does, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.change(cmd.Context(), s, fmt.Sprintf("group %s: %s %s", args[0], verb, args[1]),
				func(f *fleet.Fleet) error { return f.SwitchGroup(args[0], fleet.Part(args[1]), on) })
		},
	}
	if !on {
		c.Long = "Switches a part of a group off. Without delivery, Flux applies nothing of the group and everything\n" +
			"stays as it is; without tenants or infrastructure, Flux removes from the clusters what it applied of them."
	}
	o.addWrite(c)
	return c
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}
