// SPDX-License-Identifier: Apache-2.0

// Command bench measures what tenancy costs, against a real API server and as ratios
// within one run:
//
//	bench onboard    tenants from apply to Ready, against writing the same objects raw
//	bench admission  a ConfigMap write in a tenant's namespace, against a plain one
//	bench audit      the isolation suite on many tenants, against one
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/testkit"
)

// bench is a control plane with Tenantry's walls, to measure on.
type bench struct {
	plane  *local.ControlPlane
	config *rest.Config
	client client.WithWatch
	dir    string
	binary string
}

func main() {
	log.SetFlags(0)
	binary := flag.String("tenantry", "bin/tenantry", "the program whose controller is measured")
	flag.Parse()
	runs := map[string]func(context.Context, *bench) error{"onboard": onboard, "admission": admission, "audit": auditing}
	run, ok := runs[flag.Arg(0)]
	if !ok {
		log.Println("usage: bench [-tenantry FILE] onboard|admission|audit")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := with(ctx, *binary, flag.Arg(0) != "admission", run)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// with runs a measurement on a control plane of its own.
func with(ctx context.Context, binary string, controllers bool, run func(context.Context, *bench) error) error {
	dir, err := os.MkdirTemp("", "tenantry-bench-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	helpers, err := local.FindHelpers(ctx, "", testkit.Progress{})
	if err != nil {
		return err
	}
	plane, stop, err := local.StartControlPlane(ctx, dir, helpers, local.ControlPlaneOptions{Controllers: controllers})
	defer stop()
	if err != nil {
		return err
	}
	b := &bench{plane: plane, dir: dir, binary: binary}
	if b.config, err = plane.Admin(); err != nil {
		return err
	}
	b.config = kube.Unthrottled(b.config)
	if b.client, err = kube.NewClient(b.config); err != nil {
		return err
	}
	if err := testkit.InstallCRDs(ctx, b.client, filepath.Join(helpers.Dir, "crds", "*.yaml")); err != nil {
		return err
	}
	installer, err := install.New(b.config)
	if err != nil {
		return err
	}
	if _, err := installer.Install(ctx, false); err != nil {
		return err
	}
	if b.client, err = kube.NewClient(b.config); err != nil {
		return err
	}
	return run(ctx, b)
}

// parallel calls f for 0..n-1 from a number of workers and returns the first error.
func parallel(n, workers int, f func(int) error) error {
	var group sync.WaitGroup
	next := make(chan int)
	errs := make(chan error, workers)
	for range workers {
		group.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					errs <- err
					for range next { // let the sender end
					}
					return
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	close(errs)
	return <-errs
}

func percentile(all []time.Duration, p int) time.Duration {
	all = slices.Clone(all)
	slices.Sort(all)
	return all[(len(all)-1)*p/100]
}
