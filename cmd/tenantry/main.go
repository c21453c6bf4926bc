// SPDX-License-Identifier: Apache-2.0

// Command tenantry is the CLI and the controller.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tenantry/tenantry/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends at once what the first one asked to end in order.
	context.AfterFunc(ctx, stop)
	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
