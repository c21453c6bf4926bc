// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/audit"
)

// locked are the arguments of each Flux controller under lockdown.
var locked = map[string][]string{
	"source-controller:v1.9.5":           nil,
	"kustomize-controller:v1.9.5":        {"--no-cross-namespace-refs=true", "--no-remote-bases=true", "--default-service-account=default"},
	"helm-controller:v1.6.4":             {"--no-cross-namespace-refs", "--default-service-account=default"},
	"notification-controller:v1.9.4":     {"--no-cross-namespace-refs=true"},
	"image-reflector-controller:v1.2.5":  {"--no-cross-namespace-refs=true"},
	"image-automation-controller:v1.2.5": {"--no-cross-namespace-refs=true"},
	"source-watcher:v2.2.4":              {"--no-cross-namespace-refs=true"},
}

func controller(image string, args ...string) appsv1.Deployment {
	name, _, _ := strings.Cut(image, ":")
	d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: name}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Image: "ghcr.io/fluxcd/" + image, Args: append([]string{"--log-level=info"}, args...)}}
	return d
}

func TestLockdown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*audit.Facts)
		says   []string
	}{
		"locked down": {func(*audit.Facts) {}, nil},
		"without --no-remote-bases": {
			func(f *audit.Facts) {
				set(f, "kustomize-controller:v1.9.5", "--no-cross-namespace-refs=true", "--default-service-account=default")
			},
			[]string{"error flux-lockdown Deployment flux-system/kustomize-controller: runs without --no-remote-bases"},
		},
		"with a flag that is false": {
			func(f *audit.Facts) { set(f, "notification-controller:v1.9.4", "--no-cross-namespace-refs=false") },
			[]string{"error flux-lockdown Deployment flux-system/notification-controller: runs without --no-cross-namespace-refs"},
		},
		"with no default account": {
			func(f *audit.Facts) {
				set(f, "helm-controller:v1.6.4", "--no-cross-namespace-refs=true", "--default-service-account=")
			},
			[]string{"error flux-lockdown Deployment flux-system/helm-controller: runs without --default-service-account=default"},
		},
		"with one key for all": {
			func(f *audit.Facts) {
				set(f, "kustomize-controller:v1.9.5", append(locked["kustomize-controller:v1.9.5"], "--sops-age-secret=age")...)
			},
			[]string{"error flux-lockdown Deployment flux-system/kustomize-controller: runs with --sops-age-secret, which decrypts with one key for all tenants"},
		},
		"with commands from kubeconfigs": {
			func(f *audit.Facts) {
				set(f, "helm-controller:v1.6.4", append(locked["helm-controller:v1.6.4"], "--insecure-kubeconfig-exec")...)
			},
			[]string{"error flux-lockdown Deployment flux-system/helm-controller: runs with --insecure-kubeconfig-exec, which lets a kubeconfig of a tenant run commands in the controller (CVE-2022-24817)"},
		},
		"of an old version": {
			func(f *audit.Facts) { rename(f, "helm-controller", "helm-controller:v1.6.3@sha256:aa") },
			[]string{"warning flux-version Deployment flux-system/helm-controller: is version v1.6.3, older than 1.6.4 of Flux 2.9.5"},
		},
		"of no version": {
			func(f *audit.Facts) { rename(f, "source-controller", "source-controller:latest") },
			[]string{`info flux-version Deployment flux-system/source-controller: its image has no version that can be read ("latest")`},
		},
		"elsewhere": {
			func(f *audit.Facts) { f.Deployments = nil },
			[]string{"skipped flux-lockdown: no Flux controller runs as a Deployment here: see to its flags and version where it runs", "skipped flux-version: no Flux controller runs as a Deployment here: see to its flags and version where it runs"},
		},
		"with a root that names no account": {
			func(f *audit.Facts) { f.Kustomizations[0].Spec.ServiceAccountName = "" },
			[]string{"warning flux-root Kustomization flux-system/flux-system: names no serviceAccountName: it works only as long as Flux applies with all rights where none is named"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := sound()
			tc.change(f)
			if got := flux(f); !slices.Equal(got, tc.says) {
				t.Errorf("got  %q\nwant %q", got, tc.says)
			}
		})
	}
}

// sound is a cluster with Flux under lockdown.
func sound() *audit.Facts {
	f := &audit.Facts{}
	for image, args := range locked {
		f.Deployments = append(f.Deployments, controller(image, args...))
	}
	root := kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "flux-system"}}
	root.Spec.ServiceAccountName = "kustomize-controller"
	// A tenant's own is held by a policy.
	f.Kustomizations = []kustomizev1.Kustomization{root, {ObjectMeta: metav1.ObjectMeta{Namespace: "oil", Name: "apps"}}}
	f.Namespaces = []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "oil", Labels: map[string]string{v1alpha1.TenantLabel: "oil"}}}}
	return f
}

func set(f *audit.Facts, image string, args ...string) {
	for i := range f.Deployments {
		if strings.HasSuffix(f.Deployments[i].Spec.Template.Spec.Containers[0].Image, image) {
			f.Deployments[i] = controller(image, args...)
		}
	}
}

func rename(f *audit.Facts, name, image string) {
	for i := range f.Deployments {
		if f.Deployments[i].Name == name {
			f.Deployments[i].Spec.Template.Spec.Containers[0].Image = "ghcr.io/fluxcd/" + image
		}
	}
}

// flux is what the checks of Flux say.
func flux(f *audit.Facts) []string {
	findings, skipped := audit.Read(f)
	var all []string
	for _, id := range []string{"flux-lockdown", "flux-version"} {
		if why := skipped[id]; why != "" {
			all = append(all, "skipped "+id+": "+why)
		}
	}
	for _, found := range findings {
		if strings.HasPrefix(found.ID, "flux-") {
			all = append(all, string(found.Severity)+" "+found.ID+" "+found.Object+": "+found.Message)
		}
	}
	return all
}
