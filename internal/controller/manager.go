// SPDX-License-Identifier: Apache-2.0

// Package controller assembles the controllers into one manager.
package controller

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/controller/flux"
	"github.com/tenantry/tenantry/internal/controller/provisioner"
	"github.com/tenantry/tenantry/internal/controller/tenant"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/status"
)

// Options of a manager.
type Options struct {
	// MetricsAddress and HealthAddress to serve on; "0" serves nothing.
	MetricsAddress string
	HealthAddress  string
	// LeaderElection lets one of several replicas work.
	LeaderElection bool
	// Namespace holds the lease of leader election.
	Namespace string
	// Logger for everything that the manager runs.
	Logger logr.Logger
}

// New makes a manager with every controller.
func New(cfg *rest.Config, opts Options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(kube.Unthrottled(cfg), ctrl.Options{
		Scheme:                        kube.NewScheme(),
		Logger:                        opts.Logger,
		Cache:                         cacheOptions(),
		Metrics:                       server.Options{BindAddress: opts.MetricsAddress},
		HealthProbeBindAddress:        opts.HealthAddress,
		LeaderElection:                opts.LeaderElection,
		LeaderElectionID:              "controller." + v1alpha1.Group,
		LeaderElectionNamespace:       opts.Namespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       ptr.To(5 * time.Second),
		// One process may hold several managers in tests; metrics keep the names.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("make the controller manager: %w", err)
	}
	if err := tenant.Setup(mgr, flux.NewDetector(mgr.GetClient())); err != nil {
		return nil, fmt.Errorf("set up the tenant controller: %w", err)
	}
	if err := provisioner.Setup(mgr); err != nil {
		return nil, fmt.Errorf("set up the provisioner controller: %w", err)
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("ready", healthz.Ping)
}

// cacheOptions keep of the cluster only what bears our mark, and of that no more
// than is compared.
func cacheOptions() cache.Options {
	exists, err := labels.NewRequirement(v1alpha1.ManagedLabel, selection.Exists, nil)
	utilruntime.Must(err) // the key is a constant
	marked := cache.ByObject{Label: labels.NewSelector().Add(*exists)}
	by := map[client.Object]cache.ByObject{}
	for _, o := range slices.Concat(tenant.Kinds(), flux.Kinds(), []client.Object{&rbacv1.ClusterRoleBinding{}}) {
		by[o] = marked
	}
	// Of events, those that may tell of a refusal, and of them no more than is told.
	by[&corev1.Event{}] = cache.ByObject{Field: fields.OneTermEqualSelector("type", corev1.EventTypeWarning), Transform: slimEvent}
	return cache.Options{ByObject: by, DefaultTransform: cache.TransformStripManagedFields()}
}

func slimEvent(o any) (any, error) {
	e, ok := o.(*corev1.Event)
	if !ok {
		return o, nil
	}
	e.ManagedFields, e.Labels, e.Annotations = nil, nil, nil
	if !status.Refused(e) {
		e.Message = ""
	}
	return e, nil
}
