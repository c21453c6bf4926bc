// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/survey"
	"github.com/tenantry/tenantry/internal/words"
)

func newTenantTree(s Streams, flags kubeFlags) *cobra.Command {
	var o acrossFlags
	c := &cobra.Command{
		Use: "tree TENANT", Short: "Show a tenant as a tree: clusters, namespaces, syncs and what they applied", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeTenants(flags),
	}
	o.addFlags(c, flags)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		clusters, err := o.clustersOf(args[0])
		if err != nil {
			return err
		}
		result := survey.Ask(cmd.Context(), clusters, survey.Query{
			Kinds: []survey.Kind{survey.Tenant, survey.Namespace, survey.Source, survey.Sync}, Tenant: args[0], Timeout: o.timeout, Expected: o.expected,
		})
		if len(result.Rows) == 0 && result.Answered() {
			return fmt.Errorf("there is no tenant %s on %s", args[0], strings.Join(texts(clusters, func(c survey.Cluster) string { return c.Name }), ", "))
		}
		printBranch(s.Out, treeOf(args[0], result), "", "")
		if !result.Answered() {
			return errQuiet
		}
		return nil
	}
	return c
}

// branch is a line of a tree and those below it.
type branch struct {
	text string
	subs []branch
}

// treeOf puts a tenant's rows under its clusters, and what a sync applied under the
// sync. A sync that another applied stands there.
func treeOf(tenant string, result survey.Result) branch {
	root := branch{text: "Tenant " + tenant}
	for _, a := range result.Clusters {
		b := branch{text: a.Cluster}
		if a.Error != "" {
			b.text += ": does not answer: " + oneLine(a.Error, 160)
			root.subs = append(root.subs, b)
			continue
		}
		there := false
		var syncs []survey.Row
		for _, r := range result.Rows {
			switch {
			case r.Cluster != a.Cluster:
			case r.Kind == survey.Tenant:
				there = true
				b.text += ": " + health(r)
			case r.Kind == survey.Namespace:
				b.subs = append(b.subs, branch{text: fmt.Sprintf("Namespace %s: %s, %s", r.Name, r.Origin, r.State)})
			case r.Kind == survey.Source:
				b.subs = append(b.subs, branch{text: fmt.Sprintf("%s %s/%s: %s", r.Object, r.Namespace, r.Name, health(r))})
			case r.Kind == survey.Sync:
				syncs = append(syncs, r)
			}
		}
		if !there {
			b.text += ": not there"
		}
		b.subs = append(b.subs, syncBranches(syncs)...)
		root.subs = append(root.subs, b)
	}
	return root
}

func syncBranches(syncs []survey.Row) []branch {
	name := func(r survey.Row) string { return r.Object + " " + r.Namespace + "/" + r.Name }
	byName := map[string]survey.Row{}
	applied := map[string]bool{}
	for _, r := range syncs {
		byName[name(r)] = r
		for _, o := range r.Inventory {
			applied[o] = applied[o] || o != name(r)
		}
	}
	var grow func(r survey.Row, above []string) branch
	grow = func(r survey.Row, above []string) branch {
		b := branch{text: name(r) + ": " + health(r)}
		for _, o := range r.Inventory {
			if sub, ok := byName[o]; ok && !slices.Contains(above, o) {
				b.subs = append(b.subs, grow(sub, append(above, o)))
			} else {
				b.subs = append(b.subs, branch{text: o})
			}
		}
		return b
	}
	var all []branch
	for _, r := range syncs {
		if !applied[name(r)] {
			all = append(all, grow(r, []string{name(r)}))
		}
	}
	return all
}

// health is a row's readiness in a few words.
func health(r survey.Row) string {
	switch {
	case r.Ready == survey.Absent:
		return "not there"
	case r.Suspended:
		return "suspended"
	case r.Ready == "True":
		return strings.TrimSpace("Ready " + words.Short(r.Revision))
	default:
		return strings.TrimSpace("not Ready: " + oneLine(r.Message, 120))
	}
}

func printBranch(w io.Writer, b branch, first, rest string) {
	_, _ = fmt.Fprintln(w, first+b.text) // nobody to tell
	for i, sub := range b.subs {
		if i == len(b.subs)-1 {
			printBranch(w, sub, rest+"└── ", rest+"    ")
		} else {
			printBranch(w, sub, rest+"├── ", rest+"│   ")
		}
	}
}
