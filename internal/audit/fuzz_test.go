// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/tenantry/tenantry/internal/audit"
)

// FuzzFlux reads Deployments as anybody may have written them.
func FuzzFlux(f *testing.F) {
	f.Add("ghcr.io/fluxcd/kustomize-controller:v1.9.5", "--no-remote-bases=true")
	f.Add("source-watcher@sha256:", "=")
	f.Fuzz(func(_ *testing.T, image, arg string) {
		d := appsv1.Deployment{}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: image, Args: []string{arg}}}
		audit.Read(&audit.Facts{Deployments: []appsv1.Deployment{d}})
	})
}
