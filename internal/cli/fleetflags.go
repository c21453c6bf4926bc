// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"github.com/spf13/cobra"

	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/schema"
)

// fleetFlags say which fleet a command is about and, for one that changes it, how far
// the change goes.
type fleetFlags struct {
	dir     string
	dryRun  bool
	commit  bool
	push    bool
	message string
}

func (o *fleetFlags) addRead(c *cobra.Command) {
	c.Flags().StringVar(&o.dir, "fleet", "", "directory of the fleet repository; by default the one that the working directory is in")
	_ = c.MarkFlagDirname("fleet") // the flag exists: it was just added
}

func (o *fleetFlags) addWrite(c *cobra.Command) {
	o.addRead(c)
	o.addResult(c)
}

func (o *fleetFlags) addResult(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "print the difference and write nothing")
	f.BoolVar(&o.commit, "commit", false, "commit what was written, and nothing else, with your git")
	f.BoolVar(&o.push, "push", false, "commit and push")
	f.StringVarP(&o.message, "message", "m", "", "message of the commit; by default what was done")
}

// root is the fleet's directory.
func (o *fleetFlags) root() (string, error) {
	if o.dir != "" {
		return o.dir, nil
	}
	if dir := nearby(fleet.Find(".")); dir != "" {
		return dir, nil
	}
	return "", errors.New("the working directory is in no fleet: go to one, name one with --fleet, or make one with `tenantry init`")
}

// nearby is a path as seen from here, so that messages name files as people would.
func nearby(dir string) string {
	here, err := os.Getwd()
	if dir == "" || err != nil {
		return dir
	}
	if rel, err := filepath.Rel(here, dir); err == nil {
		return rel
	}
	return dir
}

// load reads the fleet for a command that changes nothing.
func (o *fleetFlags) load() (*fleet.Fleet, error) {
	dir, err := o.root()
	if err != nil {
		return nil, err
	}
	return fleet.Load(dir)
}

// change makes one change to the fleet: all of it is written, or nothing is.
func (o *fleetFlags) change(ctx context.Context, s Streams, what string, do func(*fleet.Fleet) error, next ...string) error {
	dir, err := o.root()
	if err != nil {
		return err
	}
	f, err := fleet.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := do(f); err != nil {
		return err
	}
	return o.finish(ctx, s, f, what, next...)
}

// finish checks a change, shows or writes it, and commits it when asked to.
func (o *fleetFlags) finish(ctx context.Context, s Streams, f *fleet.Fleet, what string, next ...string) error {
	if err := f.Review(schema.Tenant); err != nil {
		return err
	}
	return o.write(ctx, s, f, what, next...)
}

// nothing says that there is nothing to change. A push that failed before is made up for.
func (o *fleetFlags) nothing(ctx context.Context, s Streams, dir string) error {
	if _, err := fmt.Fprintln(s.Err, "Nothing to change: it is so already."); err != nil || !o.push || o.dryRun {
		return err
	}
	repo, err := openGit(ctx, dir, nil, true)
	if err != nil {
		return err
	}
	return repo.pushNow(ctx, s)
}

func (o *fleetFlags) write(ctx context.Context, s Streams, f *fleet.Fleet, what string, next ...string) error {
	changes, err := f.Changes()
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return o.nothing(ctx, s, f.Dir)
	}
	if o.dryRun {
		if _, err := fmt.Fprint(s.Out, tree.Diff(changes)); err != nil {
			return err
		}
		_, err := fmt.Fprintln(s.Err, "Nothing was written (--dry-run).")
		return err
	}
	var repo *gitRepository
	if o.commit || o.push {
		if repo, err = openGit(ctx, f.Dir, changes, o.push); err != nil {
			return err
		}
	}
	if err := f.Save(changes); err != nil {
		return err
	}
	for _, c := range changes {
		verb := "changed"
		switch {
		case c.Before == nil:
			verb = "created"
		case c.After == nil:
			verb = "removed"
		}
		if _, err := fmt.Fprintf(s.Out, "%s %s\n", verb, c.Name); err != nil {
			return err
		}
	}
	if len(f.Kept) > 0 {
		if _, err := fmt.Fprintf(s.Err, "Left as they are: %s\n", strings.Join(f.Kept, ", ")); err != nil {
			return err
		}
	}
	if repo != nil {
		message := o.message
		if message == "" {
			message = what
		}
		return repo.commit(ctx, s, message)
	}
	if len(next) > 0 {
		_, err = fmt.Fprintln(s.Err, "Next: "+strings.Join(next, "\n      "))
	}
	return err
}
