// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"path/filepath"
)

// StartControlPlane runs a control plane by itself, for tests and benchmarks, with
// everything it writes under dir. The caller calls stop, also after an error.
func StartControlPlane(ctx context.Context, dir string, helpers Helpers, opts ControlPlaneOptions) (cp *ControlPlane, stop func(), err error) {
	sup, err := newSupervisor(filepath.Join(dir, "logs"), func([]processRecord) error { return nil })
	if err != nil {
		return nil, func() {}, err
	}
	cp, err = startControlPlane(ctx, dir, helpers, sup, opts)
	return cp, sup.stop, err
}

// RestartAPIServer kills the API server, starts it again and returns as soon as it says
// that it is ready.
func (cp *ControlPlane) RestartAPIServer(ctx context.Context) error {
	if err := cp.sup.restart("kube-apiserver"); err != nil {
		return err
	}
	return cp.waitReady(ctx)
}
