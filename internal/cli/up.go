// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/world"
)

// upOptions are the flags of up.
type upOptions struct {
	fleet, cluster, name string
	maps                 []string
	once, detach, child  bool
	output               string
	timeout              time.Duration
}

func newUp(s Streams) *cobra.Command {
	var o upOptions
	c := &cobra.Command{
		Use:   "up",
		Short: "Run a fleet on this machine: Kubernetes, Flux, Tenantry and the tenants' repositories",
		Long: "Starts a cluster of real parts on 127.0.0.1 (kube-apiserver, etcd, kube-controller-manager,\n" +
			"kube-scheduler, kwok, Flux's controllers under lockdown and Tenantry's) and has Flux sync the\n" +
			"fleet as it stands in the working tree. Directories stand in for the outside URLs that\n" +
			"sources name: those of tenantry.yaml in the fleet, and those given with --map.\n\n" +
			"Without --once or --detach the cluster runs, and follows changes in the directories, until Ctrl-C.",
		Example: "  tenantry up --fleet examples/fleet --once\n" +
			"  tenantry up --fleet . --map https://git.example.com/team/app=../app --detach",
		Args: cobra.NoArgs,
	}
	f := c.Flags()
	f.StringVar(&o.fleet, "fleet", ".", "directory of the fleet repository")
	f.StringVar(&o.cluster, "cluster", "", "cluster of the fleet to run; by default the one that tenantry.yaml says, or the only one")
	f.StringVar(&o.name, "name", "default", "name of the local cluster, to run several at once")
	f.StringArrayVar(&o.maps, "map", nil, "URL=DIR: serve a directory under an outside URL; may be given several times")
	f.BoolVar(&o.once, "once", false, "stop after the summary: exit 0 when all is Ready, 1 when not")
	f.BoolVarP(&o.detach, "detach", "d", false, "return after the summary and leave the cluster running")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait for all to be Ready")
	f.StringVarP(&o.output, "output", "o", "", "json or yaml: print the summary for programs")
	f.BoolVar(&o.child, "supervise", false, "")
	_ = f.MarkHidden("supervise") // the flag exists: it was just added
	_ = c.MarkFlagDirname("fleet")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.once && o.detach {
			return usagef("--once stops the cluster and --detach leaves it running: give one of them")
		}
		if o.output != "" && o.output != "json" && o.output != "yaml" {
			return usagef("output %q is not known; use json or yaml", o.output)
		}
		return runUp(cmd.Context(), s, o)
	}
	return c
}

func runUp(ctx context.Context, s Streams, o upOptions) error {
	f, cluster, mappings, err := readFleet(o)
	if err != nil {
		return err
	}
	state, err := local.Load(o.name)
	if errors.Is(err, local.ErrBadName) {
		return usageError{err}
	}
	if err == nil && state.Running {
		return fmt.Errorf("cluster %s %w (since %s, process %d): stop it with `tenantry down --name %s`, or start another with --name",
			o.name, local.ErrRunning, state.Started.Format(time.TimeOnly), state.PID, o.name)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return world.ErrNoGit
	}
	progress := newProgress(s.Err)
	helpers, err := local.FindHelpers(ctx, "", progress)
	if err != nil {
		return err
	}
	if o.detach {
		return upDetached(ctx, s, o, progress)
	}
	opts, err := localOptions(o.name, f, cluster, helpers)
	if err != nil {
		return err
	}
	opts.World.Mappings, opts.Progress = mappings, progress
	c, err := local.Start(ctx, opts)
	if err != nil {
		return err
	}
	err = attend(ctx, s, o, c)
	if stopErr := c.Stop(); err == nil {
		err = stopErr
	}
	return err
}

// localOptions are those of a local cluster that runs a fleet's.
func localOptions(name string, f *fleet.Fleet, cluster string, helpers local.Helpers) (local.Options, error) {
	exe, err := os.Executable()
	if err != nil {
		return local.Options{}, err
	}
	return local.Options{
		Name: name, Fleet: f.Dir, Cluster: cluster, Bootstrap: f.ClusterPath(cluster), Helpers: helpers, Controller: exe,
		Install: func(ctx context.Context, cfg *rest.Config) error {
			installer, err := install.New(cfg)
			if err != nil {
				return err
			}
			_, err = installer.Install(ctx, false)
			return err
		},
	}, nil
}

// attend watches the fleet converge and then stays as long as it was asked to.
func attend(ctx context.Context, s Streams, o upOptions, c *local.Cluster) error {
	if o.child {
		return stay(ctx, c)
	}
	cfg, err := c.Admin()
	if err != nil {
		return err
	}
	good, err := converge(ctx, s, o, cfg, c.Dead(), c.State)
	switch {
	case err != nil && ctx.Err() != nil && !o.once:
		return nil // Ctrl-C is how this is meant to end
	case err != nil:
		return err
	case o.once && !good:
		return errQuiet
	case o.once:
		return nil
	}
	_, _ = fmt.Fprintln(s.Err, "\nThe cluster runs until Ctrl-C and follows changes in the directories.")
	return follow(ctx, s, cfg, c.State().Cluster, c.Dead())
}

// stay waits for Ctrl-C or for a process to die.
func stay(ctx context.Context, c *local.Cluster) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.Dead():
		return err
	}
}

// upDetached has another process of ours run the cluster, and watches from here.
func upDetached(ctx context.Context, s Streams, o upOptions, progress *progress) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := childLog(o.name)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	args := []string{"up", "--supervise", "--fleet", o.fleet, "--name", o.name}
	if o.cluster != "" {
		args = append(args, "--cluster", o.cluster)
	}
	for _, m := range o.maps {
		args = append(args, "--map", m)
	}
	child := exec.Command(exe, args...)
	child.Stdout, child.Stderr = log, log
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		return err
	}
	died := make(chan error, 1)
	go func() {
		_ = child.Wait() // what it said tells more
		content, _ := os.ReadFile(log.Name())
		died <- fmt.Errorf("cluster %s ended; from %s:\n%s", o.name, log.Name(), strings.TrimSpace(string(content)))
	}()
	end := progress.Begin("start cluster " + o.name)
	state, err := awaitReady(ctx, o.name, child.Process.Pid, died)
	end(err)
	if err != nil {
		_ = child.Process.Signal(syscall.SIGTERM)
		return err
	}
	cfg, err := adminOf(state)
	if err != nil {
		return err
	}
	good, err := converge(ctx, s, o, cfg, died, func() local.State {
		now, err := local.Load(o.name)
		if err != nil {
			return state
		}
		return now
	})
	if now, stateErr := local.Load(o.name); err != nil && stateErr == nil && now.Running {
		return fmt.Errorf("%w; the cluster runs on: stop it with `tenantry down --name %s`", err, o.name)
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(s.Err, "\nThe cluster runs on. `tenantry local status` tells of it, `tenantry down --name %s` stops it.\n", o.name)
	if !good {
		return errQuiet
	}
	return nil
}

// childLog is where a process of ours that stays in the background writes to.
func childLog(name string) (*os.File, error) {
	root, err := local.StateDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(root, name+".log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

func awaitReady(ctx context.Context, name string, pid int, died <-chan error) (local.State, error) {
	for {
		if state, err := local.Load(name); err == nil && state.PID == pid && state.Ready {
			return state, nil
		}
		select {
		case <-ctx.Done():
			return local.State{}, ctx.Err()
		case err := <-died:
			return local.State{}, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// readFleet reads the fleet and what is to be served for it.
func readFleet(o upOptions) (*fleet.Fleet, string, []world.Mapping, error) {
	f, err := openFleet(o.fleet)
	if err != nil {
		return nil, "", nil, err
	}
	cluster, err := f.Cluster(o.cluster)
	if err != nil {
		return nil, "", nil, err
	}
	if err := hasBootstrap(f, cluster); err != nil {
		return nil, "", nil, err
	}
	mappings, err := mappingsOf(f, o.maps)
	return f, cluster, mappings, err
}

// openFleet reads a fleet whose every file has to be whole.
func openFleet(dir string) (*fleet.Fleet, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	f, err := fleet.Load(dir)
	if err != nil {
		return nil, err
	}
	return f, f.ParseAll()
}

func hasBootstrap(f *fleet.Fleet, cluster string) error {
	if _, err := os.Stat(f.ClusterPath(cluster)); err != nil {
		return fmt.Errorf("cluster %s has no flux-system directory: %w; it holds what `flux bootstrap` writes", cluster, err)
	}
	return nil
}

// mappingsOf are what is served of the outside: what tenantry.yaml says, and what the
// command line says, which wins.
func mappingsOf(f *fleet.Fleet, maps []string) ([]world.Mapping, error) {
	byURL := map[string]int{}
	var mappings []world.Mapping
	add := func(m world.Mapping) {
		if i, ok := byURL[m.URL]; ok {
			mappings[i] = m
			return
		}
		byURL[m.URL] = len(mappings)
		mappings = append(mappings, m)
	}
	for _, r := range f.Config.Local.Repositories {
		add(world.Mapping{URL: r.URL, Dir: filepath.Join(f.Dir, r.Dir), Branch: r.Branch, Tag: r.Tag})
	}
	for _, m := range maps {
		url, path, ok := strings.Cut(m, "=")
		if !ok || url == "" || path == "" {
			return nil, usagef("--map %q: want URL=DIR", m)
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(abs); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("--map %s: %s is not a directory", url, abs)
		}
		add(world.Mapping{URL: url, Dir: abs})
	}
	return mappings, nil
}
