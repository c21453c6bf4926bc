// SPDX-License-Identifier: Apache-2.0

// Command controlplane is a Kubernetes control plane in one file: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, unmodified, linked
// from their published modules.
//
// The part to run is named by the first argument or, so that tools which expect
// separate binaries can use links to this one, by the name it is called under:
//
//	controlplane kube-apiserver --flag...
//	ln -s controlplane etcd && ./etcd --flag...
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// parts lists what this binary can be, by the upstream program's name.
var parts = map[string]func(args []string) int{
	"etcd":                    etcd,
	"kube-apiserver":          run(apiserver.NewAPIServerCommand),
	"kube-controller-manager": run(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
}

func main() {
	os.Exit(dispatch(os.Args))
}

func dispatch(args []string) int {
	if part, ok := parts[filepath.Base(args[0])]; ok {
		return part(args)
	}
	if len(args) > 1 {
		if part, ok := parts[args[1]]; ok {
			return part(args[1:])
		}
	}
	fmt.Fprintf(os.Stderr, "usage: %s etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]\n",
		filepath.Base(args[0]))
	return 2
}

// run adapts an upstream cobra command; upstream reads os.Args.
func run(command func() *cobra.Command) func([]string) int {
	return func(args []string) int {
		os.Args = args
		return cli.Run(command())
	}
}

// etcd serves until it is stopped. Its own flag parser reads the arguments given.
func etcd(args []string) int {
	etcdmain.Main(args)
	return 0
}
