// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/survey"
)

// getOptions are the flags of get.
type getOptions struct {
	acrossFlags
	query  survey.Query
	output string
	watch  bool
	all    bool
}

// asked is what get can be asked for, by what people type.
var asked = []struct {
	names []string
	kinds []survey.Kind
}{
	{[]string{"tenants", "tenant", "tn"}, []survey.Kind{survey.Tenant}},
	{[]string{"syncs", "sync", "kustomizations", "ks"}, []survey.Kind{survey.Sync}},
	{[]string{"sources", "source", "src"}, []survey.Kind{survey.Source}},
	{[]string{"namespaces", "namespace", "ns"}, []survey.Kind{survey.Namespace}},
	{[]string{"all"}, []survey.Kind{survey.Tenant, survey.Namespace, survey.Source, survey.Sync}},
}

func newGet(s Streams) *cobra.Command {
	var o getOptions
	c := &cobra.Command{
		Use:   "get tenants|syncs|sources|namespaces|all [NAME]",
		Short: "Print tenants and what they have, over one or several clusters",
		Long: "Prints tables over the clusters of the fleet (contexts in tenantry.yaml), those of --contexts, or the\n" +
			"current one. One thing stands together, a row for each cluster that has it, with what differs\n" +
			"between them. A cluster that doesn't answer is a row that says so, and then the exit code is 1.",
		Example: "  tenantry get tenants --contexts staging,production\n  tenantry get all --tenant oil\n  tenantry get syncs -A --watch",
		Args:    cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"tenants", "syncs", "sources", "namespaces", "all"}, cobra.ShellCompDirectiveNoFileComp
		},
	}
	flags := addKubeFlags(c)
	o.addFlags(c, flags)
	f := c.Flags()
	f.StringVarP(&o.query.Namespace, "namespace", "n", "", "in this namespace alone")
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "in all namespaces of tenants, which is the default")
	f.StringVar(&o.query.Tenant, "tenant", "", "of this tenant alone")
	f.StringVarP(&o.output, "output", "o", "", "json, yaml or wide")
	f.BoolVarP(&o.watch, "watch", "w", false, "go on and print changes until interrupted")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		for _, a := range asked {
			if isOneOf(args[0], a.names...) {
				o.query.Kinds = a.kinds
			}
		}
		switch {
		case o.query.Kinds == nil:
			return usagef("%q is not known; get tenants, syncs, sources, namespaces or all", args[0])
		case o.all && o.query.Namespace != "":
			return usagef("-A is all namespaces and -n is one: give one of them")
		case !isOneOf(o.output, "", "json", "yaml", "wide"):
			return usagef("output %q is not known; use json, yaml or wide", o.output)
		case o.watch && isOneOf(o.output, "json", "yaml"):
			return usagef("--watch prints a table; leave out -o %s", o.output)
		}
		if len(args) == 2 && len(o.query.Kinds) > 1 {
			return usagef("a name goes with one kind; for all that a tenant has use --tenant %s", args[1])
		}
		if len(args) == 2 {
			o.query.Name = args[1]
		}
		return runGet(cmd.Context(), s, o)
	}
	return c
}

// askEvery is how often a watch asks.
const askEvery = 2 * time.Second

func runGet(ctx context.Context, s Streams, o getOptions) error {
	clusters, err := o.clusters()
	if err != nil {
		return err
	}
	several := len(clusters) > 1
	o.query.Timeout, o.query.Expected = o.timeout, o.expected
	result := survey.Ask(ctx, clusters, o.query)
	if o.output == "json" || o.output == "yaml" {
		if err := printAs(s.Out, o.output, result); err != nil {
			return err
		}
	} else if err := printSurvey(s, result, o, several, true); err != nil {
		return err
	}
	for o.watch {
		next, ok := askAgain(ctx, clusters, o.query)
		if !ok {
			return nil // a watch is meant to be interrupted
		}
		changed, back := changedSince(result, next)
		for _, c := range back {
			if _, err := fmt.Fprintf(s.Out, "%s   answers again\n", c); err != nil {
				return err
			}
		}
		if err := printSurvey(s, changed, o, several, false); err != nil {
			return err
		}
		result = next
	}
	if !result.Answered() {
		return errQuiet
	}
	return nil
}

func askAgain(ctx context.Context, clusters []survey.Cluster, q survey.Query) (survey.Result, bool) {
	select {
	case <-ctx.Done():
		return survey.Result{}, false
	case <-time.After(askEvery):
	}
	result := survey.Ask(ctx, clusters, q)
	return result, ctx.Err() == nil
}

// changedSince is what is new or other in a result, and what is gone; and which clusters
// answer again.
func changedSince(before, now survey.Result) (changed survey.Result, back []string) {
	key := func(r survey.Row) string {
		return strings.Join([]string{r.Cluster, string(r.Kind), r.Object, r.Namespace, r.Name}, "\x00")
	}
	was := map[string]survey.Row{}
	for _, r := range before.Rows {
		was[key(r)] = r
	}
	silent := map[string]string{}
	for _, a := range before.Clusters {
		silent[a.Cluster] = a.Error
	}
	for _, r := range now.Rows {
		if !reflect.DeepEqual(was[key(r)], r) {
			changed.Rows = append(changed.Rows, r)
		}
		delete(was, key(r))
	}
	quiet := map[string]bool{}
	for _, a := range now.Clusters {
		quiet[a.Cluster] = a.Error != ""
		if a.Error != silent[a.Cluster] && a.Error != "" {
			changed.Clusters = append(changed.Clusters, a)
		}
	}
	for _, a := range now.Clusters {
		if silent[a.Cluster] != "" && a.Error == "" {
			back = append(back, a.Cluster)
		}
	}
	for _, r := range before.Rows {
		if gone, ok := was[key(r)]; ok && !quiet[r.Cluster] {
			gone.Ready, gone.State, gone.Message = "gone", "gone", ""
			changed.Rows = append(changed.Rows, gone)
		}
	}
	return changed, back
}
