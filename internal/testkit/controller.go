// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/tenantry/tenantry/internal/controller"
	"github.com/tenantry/tenantry/internal/kube"
)

// StartController runs the controller as its own account, with its own few rights, and
// stops it at the end of the test or when stop is called. Its configuration may be
// changed before.
func StartController(t testing.TB, a *API, change ...func(*rest.Config)) (stop func()) {
	t.Helper()
	logger := logTo(t)
	log.SetLogger(logger)
	cfg := kube.As(a.Config, "system:serviceaccount:tenantry-system:tenantry-controller")
	for _, c := range change {
		c(cfg)
	}
	mgr, err := controller.New(cfg, controller.Options{MetricsAddress: "0", HealthAddress: "0", Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the controller's cache does not sync")
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		err := <-done
		switch {
		case err == nil:
		case strings.Contains(err.Error(), "grace period"):
			t.Logf("the controller was slow to end: %v", err) // so are machines that do much else
		default:
			t.Errorf("the controller ended: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// logTo logs to the test until it ends: a manager's last goroutines outlive it, and a test
// that is over takes no more lines.
func logTo(t testing.TB) logr.Logger {
	var mu sync.Mutex
	over := false
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
	})
	return funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			t.Log(prefix, args)
		}
	}, funcr.Options{})
}
