// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// addTimeout adds the flag for work on files of others, which may be made to last.
func addTimeout(c *cobra.Command, timeout *time.Duration) {
	c.Flags().DurationVar(timeout, "timeout", 2*time.Minute, "give up after this time")
}

// within does something that writes nothing and can't be interrupted by itself, and goes
// away from it when it is interrupted or takes too long.
func within(ctx context.Context, timeout time.Duration, do func() error) error {
	// A short life is spent on little else than making things: let them lie, up to a bound.
	const aside, bound = 400, 300 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(aside))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(bound))
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(timeout):
		return fmt.Errorf("not done within %s: give it longer with --timeout, or see whether a kustomization or a chart multiplies itself", timeout)
	}
}
