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

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/expect"
	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/lint"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/schema"
	"github.com/tenantry/tenantry/internal/tree"
	"github.com/tenantry/tenantry/internal/words"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	source  sourceFlags
	tenant  string
	fleet   string
	output  string
	explain string
	strict  bool
	fix     bool
	dryRun  bool
	watch   bool
	timeout time.Duration
}

// sourceFlags say what a repository is checked or rendered with.
type sourceFlags struct {
	kubernetes string
	mapped     []string
}

func (o *sourceFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&o.kubernetes, "kubernetes", schema.Newest, "minor of Kubernetes: "+strings.Join(schema.Minors(), ", "))
	c.Flags().StringArrayVar(&o.mapped, "map", nil, "URL=DIR: a directory that stands in for the URL of a source, beside those in tenantry.yaml")
	_ = c.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(schema.Minors(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists: it was just added
}

// at are the directories that stand in for URLs: those of tenantry.yaml, then those of
// --map.
func (o *sourceFlags) at(dir string) (map[string]string, error) {
	all := map[string]string{}
	config, err := fleet.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	for _, r := range config.Local.Repositories {
		all[r.URL] = filepath.Join(dir, r.Dir)
	}
	for _, m := range o.mapped {
		url, to, ok := strings.Cut(m, "=")
		if !ok || url == "" || to == "" {
			return nil, usagef("--map %s: want URL=DIR", m)
		}
		if info, err := os.Stat(to); err != nil || !info.IsDir() {
			return nil, usagef("--map %s: %s is not a directory", m, to)
		}
		all[url] = to
	}
	return all, nil
}

func newValidate(s Streams) *cobra.Command {
	var o validateOptions
	c := &cobra.Command{
		Use:   "validate [DIR]",
		Short: "Check a fleet, or a tenant's repository, before any cluster sees it",
		Long: "Renders every cluster of the fleet as Flux would and checks what it finds: files, kustomizations,\n" +
			"objects against Kubernetes, CRDs and their rules, references, tenants, walls, secrets, and what the\n" +
			"repositories of tenants declare against RBAC, Pod Security and Tenantry's admission policies.\n" +
			"It asks no cluster and fetches nothing; what it could not check it says.\n\n" +
			"A comment lets a finding stand, with a reason: # tenantry:allow RULE: REASON, at the line or at the\n" +
			"head of the object.\n\n" +
			"Exits 1 when there is an error, or with --strict a warning.",
		Example: "  tenantry validate\n  tenantry validate -o github\n  tenantry validate ../apps --tenant oil --fleet ../fleet\n  tenantry validate --explain removed-api",
		Args:    cobra.MaximumNArgs(1),
	}
	o.source.add(c)
	addTimeout(c, &o.timeout)
	f := c.Flags()
	f.StringVar(&o.tenant, "tenant", "", "check the directory as the repository of this tenant of the fleet")
	f.StringVar(&o.fleet, "fleet", "", "directory of the fleet that --tenant is of")
	f.StringVarP(&o.output, "output", "o", "", "json, yaml, sarif, junit or github")
	f.StringVar(&o.explain, "explain", "", "say what a rule is about, why it matters and how it is mended; 'list' lists all")
	f.BoolVar(&o.strict, "strict", false, "fail on warnings too")
	f.BoolVar(&o.fix, "fix", false, "mend what is mechanical")
	f.BoolVar(&o.dryRun, "dry-run", false, "with --fix: print the difference and write nothing")
	f.BoolVar(&o.watch, "watch", false, "check again whenever a file changes, until interrupted")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if o.explain != "" {
			return explainRule(s, o.explain, o.output)
		}
		if err := o.check(); err != nil {
			return err
		}
		dir, err := o.dir(args)
		if err != nil {
			return err
		}
		if o.watch {
			return o.watching(cmd.Context(), s, dir)
		}
		return o.run(cmd.Context(), s, dir)
	}
	return c
}

func (o *validateOptions) check() error {
	switch {
	case !slices.Contains([]string{"", "json", "yaml", "sarif", "junit", "github"}, o.output):
		return usagef("output %q is not known; use json, yaml, sarif, junit or github", o.output)
	case o.dryRun && !o.fix:
		return usagef("--dry-run is for --fix: validate writes nothing by itself")
	case o.watch && o.fix:
		return usagef("--watch and --fix don't go together: an editor would lose what it has open")
	case o.tenant != "" && o.fleet == "":
		return usagef("--tenant needs --fleet: the fleet says what the tenant may do")
	case o.fleet != "" && o.tenant == "":
		return usagef("--fleet needs --tenant: to check the fleet itself, name its directory")
	}
	return checkMinor(o.source.kubernetes)
}

// checkMinor tells whether a minor of Kubernetes, with or without a v, is known.
func checkMinor(minor string) error {
	if !slices.Contains(schema.Minors(), strings.TrimPrefix(minor, "v")) {
		return usagef("--kubernetes %s is not known; use %s", minor, strings.Join(schema.Minors(), ", "))
	}
	return nil
}

// dir is what is checked: the directory named, else the fleet around the working
// directory, else that itself.
func (o *validateOptions) dir(args []string) (string, error) {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	} else if found := nearby(fleet.Find(".")); found != "" && o.tenant == "" {
		dir = found
	}
	return dir, checkDir(dir)
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: no such file or directory", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return usagef("%s is a file: name the directory of a repository", dir)
	}
	return nil
}

// lint checks a directory, as a repository of its own or as a tenant's.
func (o *validateOptions) lint(dir string) (*lint.Report, error) {
	root := dir
	if o.tenant != "" {
		root = o.fleet
	}
	at, err := o.source.at(root)
	var mistake *tree.Error
	var of func(string) bool
	switch {
	case errors.As(err, &mistake):
		at = nil // it is a finding
	case err != nil:
		return nil, err
	default:
		if _, err := expect.Load(root); err != nil && !errors.As(err, &mistake) {
			return nil, err
		}
	}
	if o.tenant != "" {
		urls, err := urlsOf(o.fleet, o.tenant)
		if err != nil {
			return nil, err
		}
		for _, u := range urls {
			at[u] = dir
		}
		within := tree.New(dir)
		of = func(file string) bool { _, ok := within.Name(file); return ok }
	}
	r, err := lint.Run(root, render.Options{Kubernetes: o.source.kubernetes, At: at, Now: time.Now()})
	if err != nil {
		return nil, err
	}
	if mistake != nil {
		r.Add("config", mistake.File, mistake.Line, mistake.What)
	}
	if of != nil {
		r.Only(of)
	}
	return r, nil
}

// urlsOf are the URLs that a tenant of a fleet syncs from.
func urlsOf(dir, tenant string) ([]string, error) {
	f, err := fleet.Load(dir)
	if err != nil {
		return nil, err
	}
	t := f.Tenant(tenant)
	if t == nil {
		return nil, f.NoTenant(tenant)
	}
	places, err := f.PlacesIn(t, "")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range places {
		tn, err := f.Effective(p)
		if err != nil {
			return nil, err
		}
		for _, s := range tn.Spec.Syncs {
			switch {
			case s.Source.Git != nil:
				all = append(all, s.Source.Git.URL)
			case s.Source.OCI != nil:
				all = append(all, s.Source.OCI.URL)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("tenant %s syncs nothing in any environment of the fleet: there is nothing to check as it", tenant)
	}
	return all, nil
}

func (o *validateOptions) run(ctx context.Context, s Streams, dir string) error {
	start := time.Now()
	var r *lint.Report
	if err := within(ctx, o.timeout, func() (err error) {
		r, err = o.lint(dir)
		return err
	}); err != nil {
		return err
	}
	if o.fix {
		return o.mend(ctx, s, dir, r)
	}
	return o.print(s, r, time.Since(start))
}

func (o *validateOptions) print(s Streams, r *lint.Report, took time.Duration) error {
	if err := printFindings(s, o.output, r, took); err != nil {
		return err
	}
	if r.Count(lint.Error) > 0 || o.strict && len(r.Findings) > 0 {
		return errQuiet
	}
	return nil
}

// mend writes what can be mended, and tells what is left.
func (o *validateOptions) mend(ctx context.Context, s Streams, dir string, r *lint.Report) error {
	fixed, trees, err := r.Fix()
	if err != nil {
		return err
	}
	for _, t := range trees {
		changes, err := t.Changes()
		if err != nil {
			return err
		}
		if o.dryRun {
			if _, err := fmt.Fprint(s.Out, tree.Diff(changes)); err != nil {
				return err
			}
			continue
		}
		if err := t.Save(changes); err != nil {
			return err
		}
		for _, c := range changes {
			if _, err := fmt.Fprintf(s.Out, "changed %s\n", t.Full(c.Name)); err != nil {
				return err
			}
		}
	}
	switch {
	case o.dryRun:
		_, err := fmt.Fprintf(s.Err, "%s could be mended. Nothing was written (--dry-run).\n", words.Count(fixed, "finding"))
		return err
	case fixed > 0:
		if _, err := fmt.Fprintf(s.Err, "Mended %s. What is left:\n", words.Count(fixed, "finding")); err != nil {
			return err
		}
	}
	again := *o
	again.fix = false
	return again.run(ctx, s, dir)
}

// watching checks again whenever a file changed.
func (o *validateOptions) watching(ctx context.Context, s Streams, dir string) error {
	dirs := []string{dir}
	if o.fleet != "" {
		dirs = append(dirs, o.fleet)
	}
	if at, err := o.source.at(dirs[len(dirs)-1]); err == nil {
		for _, d := range at {
			dirs = append(dirs, d)
		}
	}
	return watchFiles(ctx, s, dirs, func() error { return o.run(ctx, s, dir) })
}
