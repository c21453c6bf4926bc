// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/schema"
)

// testOptions are the flags of test.
type testOptions struct {
	clusters   []string
	maps       []string
	kubernetes []string
	keys       []string
	parallel   int
	network    bool
	record     string
	recorded   string
	attacks    string
	keep       bool
	watch      bool
	timeout    time.Duration
	output     string
	reports    []string
	force      bool
	child      bool
}

func newTest(s Streams) *cobra.Command {
	var o testOptions
	c := &cobra.Command{
		Use:   "test [DIR]",
		Short: "Run the whole fleet on this machine, attack its tenants and report",
		Long: "Boots a cluster of real parts for each cluster of the fleet, has Flux apply the working tree as it\n" +
			"stands, waits until all is Ready or stays as it is, attacks every tenant, asks what tests/*.yaml of\n" +
			"the fleet expects, and reports: what became Ready after which time, what failed with the message of\n" +
			"Flux or the API server and the line that it comes from, and what is not here as on a real cluster.\n\n" +
			"Directories stand in for the outside URLs that sources name: those of tenantry.yaml and of --map.\n" +
			"What is asked for and served from nowhere is listed. Nothing is left running, and nothing on disk,\n" +
			"but with --keep.\n\n" +
			"Exits 1 when something is not as declared or expected, or an attack got through.",
		Example: "  tenantry test\n  tenantry test examples/fleet --report report.html --report junit.xml\n" +
			"  tenantry test --cluster staging --kubernetes 1.36,1.35\n  tenantry test --map https://git.example.com/team/app=../app --watch",
		Args: cobra.MaximumNArgs(1),
	}
	f := c.Flags()
	f.StringSliceVar(&o.clusters, "cluster", nil, "clusters of the fleet to run; by default all")
	f.StringArrayVar(&o.maps, "map", nil, "URL=DIR: serve a directory under an outside URL; may be given several times")
	f.StringSliceVar(&o.kubernetes, "kubernetes", nil, "minors of Kubernetes to run, one after another: "+strings.Join(schema.Minors(), ", ")+"; with several, differences from the first are reported")
	f.StringArrayVar(&o.keys, "decryption-key", nil, "file with an age identity or a PGP private key that decrypts what SOPS encrypted; may be given several times")
	f.IntVar(&o.parallel, "parallel", 2, "how many clusters to run at once")
	f.BoolVar(&o.network, "network", false, "fetch what no directory stands in for from its real place")
	f.StringVar(&o.record, "record", "", "with --network: directory that keeps what was fetched, for later runs without a network")
	f.StringVar(&o.recorded, "recorded", "", "directory that --record has written, to serve from")
	f.StringVar(&o.attacks, "attacks", "alike", "whom to attack: alike plays all attacks on one of the tenants that differ by name alone, and on the others one for each policy; all plays all on every tenant; none")
	f.BoolVar(&o.keep, "keep", false, "leave the clusters running and print their kubeconfigs; tenantry down --name test-CLUSTER stops them")
	f.BoolVar(&o.watch, "watch", false, "test again what changes in the directories, until interrupted")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long a cluster may take to apply the fleet")
	f.StringVarP(&o.output, "output", "o", "", "json, yaml, junit, markdown or html")
	f.StringArrayVar(&o.reports, "report", nil, "file to write a report to, by its ending: .xml (JUnit), .md, .html, .json, .yaml or .txt; may be given several times")
	f.BoolVar(&o.force, "force", false, "write over reports that are there")
	f.BoolVar(&o.child, "supervise", false, "")
	_ = f.MarkHidden("supervise") // the flag exists: it was just added
	_ = c.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(schema.Minors(), cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		dir, err := fleetDir(args)
		if err != nil {
			return err
		}
		switch {
		case o.child:
			k, ctx := newKeeper(cmd.Context(), s.In)
			return k.run(ctx, &o, dir)
		case o.keep:
			return keepRunning(cmd, s)
		default:
			return o.run(cmd.Context(), s, dir, nil)
		}
	}
	return c
}

func (o *testOptions) check() error {
	if !slices.Contains([]string{"", "json", "yaml", "junit", "markdown", "html"}, o.output) {
		return usagef("output %q is not known; use json, yaml, junit, markdown or html", o.output)
	}
	switch {
	case !slices.Contains([]string{"alike", "all", "none"}, o.attacks):
		return usagef("--attacks %s is not known; use alike, all or none", o.attacks)
	case o.parallel < 1:
		return usagef("--parallel is %d: at least one cluster runs at once", o.parallel)
	case o.record != "" && !o.network:
		return usagef("--record keeps what --network fetches: give both")
	case o.recorded != "" && o.network:
		return usagef("--recorded is for runs without a network: leave --network out")
	case o.watch && o.keep:
		return usagef("--watch leaves nothing running, and --keep does: give one of them")
	case o.watch && len(o.kubernetes) > 1:
		return usagef("--watch runs one minor of Kubernetes: give one")
	}
	for i, k := range o.kubernetes {
		if err := checkMinor(k); err != nil {
			return err
		}
		o.kubernetes[i] = strings.TrimPrefix(k, "v")
	}
	for _, r := range o.reports {
		if err := o.checkReport(r); err != nil {
			return err
		}
	}
	return nil
}

// checkReport says before a long run what would keep a report from being written after it.
func (o *testOptions) checkReport(file string) error {
	if _, ok := writers[filepath.Ext(file)]; !ok {
		return usagef("--report %s: its ending says the format: use .xml, .md, .html, .json, .yaml or .txt", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("--report %s: %s is not a directory", file, filepath.Dir(file))
	}
	if _, err := os.Lstat(file); err == nil && !o.force && !o.child {
		return fmt.Errorf("--report %s is there already: give --force to write over it", file)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// decryptionKeys reads the keys that were given.
func (o *testOptions) decryptionKeys() (local.Keys, error) {
	var keys local.Keys
	for _, file := range o.keys {
		content, err := os.ReadFile(file)
		if err == nil {
			err = keys.Add(content)
		}
		if err != nil {
			return keys, fmt.Errorf("--decryption-key %s: %w", file, err)
		}
	}
	return keys, nil
}
