// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
)

// Files of the process that stays with clusters, beside its standard ones, which are a
// log: where it says how the test ended, by what it learns that its parent has ended, and
// what its parent prints to.
const (
	verdictFile = 3 + iota
	parentFile
	outFile
	errFile
)

// keepRunning has another process of ours run the test, which stays with the clusters
// when this one ends.
func keepRunning(cmd *cobra.Command, s Streams) error {
	stdout, isFile := s.Out.(*os.File)
	stderr, isToo := s.Err.(*os.File)
	if !isFile || !isToo {
		return errors.New("--keep hands its output to another process, which can write to files and terminals alone")
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := childLog("test")
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	verdict, said, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = verdict.Close() }()
	alive, mine, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = mine.Close() }()
	child := exec.Command(exe, append(os.Args[1:], "--supervise")...) //nolint:gosec // our own program and arguments
	child.Stdout, child.Stderr = log, log
	child.ExtraFiles = []*os.File{said, alive, stdout, stderr}
	// A session of its own: Ctrl-C and the terminal's end are for us alone.
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = child.Start()
	_, _ = said.Close(), alive.Close() // they are the child's now
	if err != nil {
		return err
	}
	stop := context.AfterFunc(cmd.Context(), func() { _ = child.Process.Signal(syscall.SIGTERM) })
	defer stop()
	answer := make([]byte, 1)
	if _, err := io.ReadFull(verdict, answer); err == nil {
		if answer[0] == exitOK {
			return nil
		}
		return errQuiet
	}
	// It ended without leaving anything running, and has said why.
	var exit *exec.ExitError
	switch err := child.Wait(); {
	case errors.As(err, &exit) && exit.ExitCode() == exitUsage:
		return usageError{errQuiet}
	case err != nil:
		return errQuiet
	}
	return nil
}

// keeper is the process that stays with clusters.
type keeper struct {
	Streams
	cancel context.CancelFunc
	// detached is set once the parent may end.
	detached chan struct{}
}

// newKeeper is this process, started by keepRunning. Its context ends with the parent,
// until it is detached.
func newKeeper(ctx context.Context, in io.Reader) (*keeper, context.Context) {
	for fd := verdictFile; fd <= errFile; fd++ {
		syscall.CloseOnExec(fd) // what a cluster runs would hold them open
	}
	ctx, cancel := context.WithCancel(ctx)
	k := &keeper{
		Streams: Streams{In: in, Out: os.NewFile(outFile, "output"), Err: os.NewFile(errFile, "errors")},
		cancel:  cancel, detached: make(chan struct{}),
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(parentFile, "parent")) // ends with it
		select {
		case <-k.detached:
		default:
			cancel()
		}
	}()
	return k, ctx
}

// run runs the test and says itself what is wrong: the standard streams are a log.
func (k *keeper) run(ctx context.Context, o *testOptions, dir string) error {
	defer k.cancel()
	err := o.run(ctx, k.Streams, dir, k)
	if err == nil || errors.Is(err, errQuiet) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	_, _ = fmt.Fprintln(k.Err, "tenantry:", err)
	var usage usageError
	if errors.As(err, &usage) {
		return usageError{errQuiet}
	}
	return errQuiet
}

// leave tells the parent how the test ended and lets it go.
func (k *keeper) leave(passed bool) error {
	close(k.detached)
	for _, w := range []io.Writer{k.Out, k.Err} {
		// Whoever reads what was printed waits for its end.
		if f, ok := w.(*os.File); ok {
			_ = f.Close() // nothing more is written
		}
	}
	verdict := os.NewFile(verdictFile, "verdict")
	answer := []byte{exitOK}
	if !passed {
		answer[0] = exitError
	}
	_, err := verdict.Write(answer)
	return errors.Join(err, verdict.Close())
}

// stay stays with the clusters until they are to be stopped, or one of them ends.
func (t *testRun) stay(ctx context.Context) error {
	ended := make(chan error, len(t.runs))
	for _, r := range t.runs {
		go func() { ended <- stay(ctx, r.Live()) }()
	}
	return <-ended
}
