// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/tenantry/tenantry/internal/local"
)

func newDown(s Streams) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "down", Short: "Stop a cluster that `up --detach` left running, or clear up after one that crashed", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			end := newProgress(s.Err).Begin("stop cluster " + name)
			err := local.Down(cmd.Context(), name)
			end(err)
			return err
		},
	}
	c.Flags().StringVar(&name, "name", "default", "name of the local cluster")
	return c
}

func newLocal(s Streams) *cobra.Command {
	return group("local", "Tell of the clusters on this machine", newLocalStatus(s))
}

func newLocalStatus(s Streams) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "status", Short: "List the clusters on this machine, their processes and kubeconfigs", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := local.List()
			if err != nil {
				return err
			}
			if output != "" {
				return printAs(s.Out, output, all)
			}
			if len(all) == 0 {
				_, err := fmt.Fprintln(s.Err, "No local clusters. Start one with `tenantry up`.")
				return err
			}
			for _, state := range all {
				if err := printState(s, state); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	return c
}

func printState(s Streams, state local.State) error {
	t := newTable(s.Out)
	running := "running for " + duration.HumanDuration(time.Since(state.Started))
	if !state.Running {
		running = "crashed; clear up with `tenantry down --name " + state.Name + "`"
	}
	t.row("Cluster:", state.Name, running)
	t.row("Fleet:", state.Fleet, "clusters/"+state.Cluster)
	t.row("Logs:", state.Logs)
	for _, name := range slices.Sorted(maps.Keys(state.Kubeconfigs)) {
		t.row("Kubeconfig:", state.Kubeconfigs[name], name)
	}
	for _, p := range state.Processes {
		t.row("Process:", p.Name, fmt.Sprint(p.PID))
	}
	return t.flush()
}
