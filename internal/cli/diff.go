// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenantry/tenantry/internal/build"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/diff"
	"github.com/tenantry/tenantry/internal/render"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	source   sourceFlags
	kube     kubeFlags
	base     string
	clusters []string
	tenant   string
	live     bool
	output   string
	exitCode bool
	timeout  time.Duration

	// was are the directories that the base was read from, and those that they stand for.
	was map[string]string
}

func newDiff(s Streams) *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff [DIR]",
		Short: "Say what a change does to every cluster and tenant",
		Long: "Renders the fleet as it is in the working tree and as it was at --base, and compares what every cluster\n" +
			"gets: objects, field by field, what admission policies read of tenants, and who gains or loses which\n" +
			"role in which namespace. Values of Secrets are never said.\n\n" +
			"With --live the clusters are asked instead: each object is applied by dry run, as the account that will\n" +
			"apply it, and compared with what is there. Needs the contexts of the clusters (tenantry.yaml or\n" +
			"--context) and the right to impersonate these accounts.",
		Example: "  tenantry diff\n  tenantry diff --base origin/main -o markdown > comment.md\n  tenantry diff --live --cluster staging --context staging-admin",
		Args:    cobra.MaximumNArgs(1),
	}
	o.kube = addKubeFlags(c)
	o.source.add(c)
	addTimeout(c, &o.timeout)
	f := c.Flags()
	f.StringVar(&o.base, "base", "HEAD", "revision of Git to compare with")
	f.StringSliceVar(&o.clusters, "cluster", nil, "clusters to compare; by default all")
	f.StringVar(&o.tenant, "tenant", "", "only what is this tenant's")
	f.BoolVar(&o.live, "live", false, "compare with the clusters themselves, by dry run")
	f.StringVarP(&o.output, "output", "o", "", "json, yaml or markdown")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit 1 when anything differs")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !slices.Contains([]string{"", "json", "yaml", "markdown"}, o.output):
			return usagef("output %q is not known; use json, yaml or markdown", o.output)
		case o.live && cmd.Flags().Changed("base"):
			return usagef("--live and --base don't go together: one compares with clusters, the other with a revision")
		}
		dir, err := fleetDir(args)
		if err != nil {
			return err
		}
		if o.live {
			return o.runLive(cmd.Context(), s, dir)
		}
		return o.run(cmd.Context(), s, dir)
	}
	return c
}

// run compares the working tree with a revision.
func (o *diffOptions) run(ctx context.Context, s Streams, dir string) error {
	at, err := o.source.at(dir)
	if err != nil {
		return err
	}
	var after, before []*render.Cluster
	if err := within(ctx, o.timeout, func() (err error) {
		if after, err = o.source.renderWith(dir, at, o.clusters); err == nil {
			before, err = o.before(ctx, dir, at)
		}
		return err
	}); err != nil {
		return err
	}
	d := diff.Compare(o.objects(before), o.objects(after))
	if err := printDiff(s, o.output, d, "since "+o.base); err != nil {
		return err
	}
	if err := tellGaps(s, after); err != nil {
		return err
	}
	if o.exitCode && !d.Empty() {
		return errQuiet
	}
	return nil
}

// before renders the fleet as it was at the base, out of Git.
func (o *diffOptions) before(ctx context.Context, dir string, at map[string]string) ([]*render.Cluster, error) {
	tmp, err := os.MkdirTemp("", "tenantry-diff-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // nothing of it is needed any more
	top, err := checkout(ctx, dir, o.base, tmp)
	if err != nil {
		return nil, err
	}
	moved := func(d string) (string, bool) {
		abs, err := filepath.Abs(d)
		if err != nil {
			return "", false
		}
		if abs, err = filepath.EvalSymlinks(abs); err != nil {
			return "", false
		}
		rel, err := filepath.Rel(top, abs)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return "", false
		}
		return filepath.Join(tmp, rel), true
	}
	root, ok := moved(dir)
	if !ok {
		return nil, fmt.Errorf("%s is not in the Git repository %s", dir, top)
	}
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		return nil, nil // there was no fleet then
	}
	was := map[string]string{}
	for url, d := range at {
		was[url] = d // of another repository there is only what it has now
		if m, ok := moved(d); ok {
			was[url] = m
		}
	}
	f, err := render.Open(root, render.Options{Kubernetes: o.source.kubernetes, At: was, Now: time.Now(), Whole: true})
	if err != nil {
		return nil, err
	}
	o.was = map[string]string{root: dir}
	for url, d := range at {
		o.was[was[url]] = d
	}
	names := f.Names()
	if len(o.clusters) > 0 {
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(o.clusters, n) })
	}
	return f.Clusters(names...), nil
}

// from is where something is written, in the working tree whenever it was.
func (o *diffOptions) from(at build.Place) string {
	for was, is := range o.was {
		if rel, ok := strings.CutPrefix(at.File, was+string(filepath.Separator)); ok && was != is {
			at.File = filepath.Join(is, rel)
			break
		}
	}
	return at.String()
}

// objects are what clusters have, by cluster.
func (o *diffOptions) objects(clusters []*render.Cluster) map[string][]diff.Object {
	all := map[string][]diff.Object{}
	for _, c := range clusters {
		all[c.Name] = []diff.Object{}
		for _, f := range c.Final() {
			if o.tenant != "" && f.Tenant != o.tenant {
				continue
			}
			all[c.Name] = append(all[c.Name], diff.Object{
				Key:    diff.Key{Group: f.Group, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name},
				Fields: f.Fields, Tenant: f.Tenant, From: o.from(f.From), Hidden: f.Hidden,
			})
		}
	}
	return all
}
