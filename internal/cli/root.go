// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Streams are what a command reads from and writes to.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// usageError is a mistake in how a command was called.
type usageError struct{ error }

// Unwrap gives what the mistake is.
func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errQuiet fails a command that has said why already.
var errQuiet = errors.New("")

// Run runs the command line and returns the exit code.
func Run(ctx context.Context, args []string, s Streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if !errors.Is(err, errQuiet) {
		_, _ = fmt.Fprintln(s.Err, "tenantry:", err)
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitError
}

func newRoot(s Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "tenantry",
		Short: "Multi-tenant GitOps for Kubernetes on Flux",
		Long: "Tenantry compiles a Tenant, declared in Git, into native Kubernetes objects and Flux wiring,\n" +
			"so that many teams share a cluster safely.",
		SilenceUsage:  true,
		SilenceErrors: true,
		// Without a command, people want the list.
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddGroup(
		&cobra.Group{ID: "fleet", Title: "A fleet repository:"},
		&cobra.Group{ID: "local", Title: "A cluster on this machine:"},
		&cobra.Group{ID: "cluster", Title: "Tenants and clusters:"},
	)
	for _, c := range []*cobra.Command{newInit(s), newValidate(s), newRender(s), newDiff(s), newSchema(s), newGroup(s), newCluster(s), newImport(s)} {
		c.GroupID = "fleet"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{newTest(s), newUp(s), newDown(s), newLocal(s)} {
		c.GroupID = "local"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{newTenant(s), newGet(s), newReconcile(s), newSuspend(s), newResume(s), newAudit(s), newInstall(s), newUninstall(s), newController(s)} {
		c.GroupID = "cluster"
		root.AddCommand(c)
	}
	root.AddCommand(newVersion(s))
	wrapArgs(root)
	return root
}

// wrapArgs makes mistakes in arguments usage errors, for every command alike. An empty
// value is one: it is what a script's unset variable becomes, and seldom meant as none.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w; see %s --help", err, cmd.CommandPath())
			}
			if slices.Contains(args, "") {
				return usagef("an argument is empty; see %s --help", cmd.CommandPath())
			}
			var err error
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if list, ok := f.Value.(pflag.SliceValue); f.Value.String() == "" || ok && (len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), "")) {
					err = usagef("--%s is empty; see %s --help", f.Name, cmd.CommandPath())
				}
			})
			return err
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(subs...)
	return c
}

// terminal tells whether a stream is a terminal that wants color and movement.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// size is a terminal's width and height in characters, or 0.
func size(w io.Writer) (width, height int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}
