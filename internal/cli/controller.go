// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/tenantry/tenantry/internal/controller"
)

func newController(s Streams) *cobra.Command {
	opts := controller.Options{}
	var verbose bool
	c := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller that keeps tenants as declared",
		Args:  cobra.NoArgs,
	}
	flags := addKubeFlags(c)
	c.Flags().StringVar(&opts.MetricsAddress, "metrics-bind-address", "127.0.0.1:8080", "address of Prometheus metrics; 0 serves none")
	c.Flags().StringVar(&opts.HealthAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 serves none")
	c.Flags().BoolVar(&opts.LeaderElection, "leader-elect", true, "let one of several replicas work")
	c.Flags().StringVar(&opts.Namespace, "namespace", namespaceOr("tenantry-system"), "namespace of the lease of leader election")
	c.Flags().BoolVar(&verbose, "verbose", false, "log every run")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.config()
		if err != nil {
			return err
		}
		level := zapcore.InfoLevel
		if verbose {
			level = zapcore.DebugLevel
		}
		opts.Logger = zap.New(zap.WriteTo(s.Err), zap.Level(level))
		ctrl.SetLogger(opts.Logger)
		klog.SetLogger(opts.Logger)
		if os.Getenv("GOGC") == "" {
			// A small, mostly idle cache is worth more than the last bit of speed.
			debug.SetGCPercent(gcPercent)
		}
		mgr, err := controller.New(cfg, opts)
		if err != nil {
			return mend(err)
		}
		return mend(mgr.Start(cmd.Context()))
	}
	return c
}

// mend adds what to do about the errors that people meet first.
func mend(err error) error {
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%w; install Tenantry with `tenantry install` first", err)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%w; choose other ports with --metrics-bind-address and --health-probe-bind-address", err)
	default:
		return err
	}
}

// gcPercent is how much garbage the controller lets gather before it collects, in
// percent of what lives.
const gcPercent = 30

// namespaceOr is the namespace that this Pod runs in, as its manifest tells it.
func namespaceOr(otherwise string) string {
	if ns := os.Getenv("POD_NAMESPACE"); ns != "" {
		return ns
	}
	return otherwise
}
