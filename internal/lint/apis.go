// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kinds "github.com/tenantry/tenantry/internal/schema"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// removed is a version of kinds that Kubernetes or Flux served once.
type removed struct {
	group, version string
	kinds          []string // none: all of them
	// in is the minor of Kubernetes that serves it no longer; of Flux, the version that is
	// bundled here doesn't.
	in string
	// group and version to use instead; "" is the same group. No version: there is none.
	toGroup, toVersion string
	instead            string
}

// flux is the version whose CRDs are bundled.
const flux = "2.9"

// gone is from Kubernetes' deprecated API migration guide and Flux's own CRDs.
// https://kubernetes.io/docs/reference/using-api/deprecation-guide/
var gone = []removed{
	{"extensions", "v1beta1", []string{"Deployment", "DaemonSet", "ReplicaSet"}, "Kubernetes 1.16", "apps", "v1", ""},
	{"extensions", "v1beta1", []string{"NetworkPolicy"}, "Kubernetes 1.16", "networking.k8s.io", "v1", ""},
	{"extensions", "v1beta1", []string{"Ingress"}, "Kubernetes 1.22", "networking.k8s.io", "v1", ""},
	{"extensions", "v1beta1", []string{"PodSecurityPolicy"}, "Kubernetes 1.16", "", "", podSecurity},
	{"apps", "v1beta1", nil, "Kubernetes 1.16", "", "v1", ""},
	{"apps", "v1beta2", nil, "Kubernetes 1.16", "", "v1", ""},
	{"networking.k8s.io", "v1beta1", []string{"Ingress", "IngressClass"}, "Kubernetes 1.22", "", "v1", ""},
	{"rbac.authorization.k8s.io", "v1alpha1", nil, "Kubernetes 1.22", "", "v1", ""},
	{"rbac.authorization.k8s.io", "v1beta1", nil, "Kubernetes 1.22", "", "v1", ""},
	{"admissionregistration.k8s.io", "v1beta1", []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}, "Kubernetes 1.22", "", "v1", ""},
	{"apiextensions.k8s.io", "v1beta1", nil, "Kubernetes 1.22", "", "v1", ""},
	{"apiregistration.k8s.io", "v1beta1", nil, "Kubernetes 1.22", "", "v1", ""},
	{"certificates.k8s.io", "v1beta1", []string{"CertificateSigningRequest"}, "Kubernetes 1.22", "", "v1", ""},
	{"coordination.k8s.io", "v1beta1", []string{"Lease"}, "Kubernetes 1.22", "", "v1", ""},
	{"scheduling.k8s.io", "v1beta1", nil, "Kubernetes 1.22", "", "v1", ""},
	{"storage.k8s.io", "v1beta1", []string{"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"}, "Kubernetes 1.22", "", "v1", ""},
	{"storage.k8s.io", "v1beta1", []string{"CSIStorageCapacity"}, "Kubernetes 1.27", "", "v1", ""},
	{"batch", "v1beta1", nil, "Kubernetes 1.25", "", "v1", ""},
	{"batch", "v2alpha1", nil, "Kubernetes 1.21", "", "v1", ""},
	{"discovery.k8s.io", "v1beta1", nil, "Kubernetes 1.25", "", "v1", ""},
	{"events.k8s.io", "v1beta1", nil, "Kubernetes 1.25", "", "v1", ""},
	{"autoscaling", "v2beta1", nil, "Kubernetes 1.25", "", "v2", ""},
	{"autoscaling", "v2beta2", nil, "Kubernetes 1.26", "", "v2", ""},
	{"policy", "v1beta1", []string{"PodDisruptionBudget"}, "Kubernetes 1.25", "", "v1", ""},
	{"policy", "v1beta1", []string{"PodSecurityPolicy"}, "Kubernetes 1.25", "", "", podSecurity},
	{"node.k8s.io", "v1beta1", nil, "Kubernetes 1.25", "", "v1", ""},
	{"flowcontrol.apiserver.k8s.io", "v1beta1", nil, "Kubernetes 1.26", "", "v1", ""},
	{"flowcontrol.apiserver.k8s.io", "v1beta2", nil, "Kubernetes 1.29", "", "v1", ""},
	{"flowcontrol.apiserver.k8s.io", "v1beta3", nil, "Kubernetes 1.32", "", "v1", ""},
	{"helm.fluxcd.io", "v1", []string{"HelmRelease"}, "", "", "", "use HelmRelease of helm.toolkit.fluxcd.io/v2, with a source and spec.chart.spec"},
	{"image.toolkit.fluxcd.io", "v1alpha1", nil, "", "", "v1", ""},
	{"image.toolkit.fluxcd.io", "v1alpha2", nil, "", "", "v1", ""},
	{"image.toolkit.fluxcd.io", "v1beta1", nil, "", "", "v1", ""},
	{"source.toolkit.fluxcd.io", "v1alpha1", nil, "", "", "v1", ""},
	{"source.toolkit.fluxcd.io", "v1beta1", nil, "", "", "v1", ""},
	{"source.toolkit.fluxcd.io", "v1beta2", nil, "", "", "v1", ""},
	{"kustomize.toolkit.fluxcd.io", "v1alpha1", nil, "", "", "v1", ""},
	{"kustomize.toolkit.fluxcd.io", "v1beta1", nil, "", "", "v1", ""},
	{"kustomize.toolkit.fluxcd.io", "v1beta2", nil, "", "", "v1", ""},
	{"helm.toolkit.fluxcd.io", "v2alpha1", nil, "", "", "v2", ""},
	{"helm.toolkit.fluxcd.io", "v2beta1", nil, "", "", "v2", ""},
	{"helm.toolkit.fluxcd.io", "v2beta2", nil, "", "", "v2", ""},
	{"notification.toolkit.fluxcd.io", "v1beta1", []string{"Alert", "Provider"}, "", "", "v1beta3", ""},
	{"notification.toolkit.fluxcd.io", "v1beta2", []string{"Alert", "Provider"}, "", "", "v1beta3", ""},
	{"notification.toolkit.fluxcd.io", "v1beta1", []string{"Receiver"}, "", "", "v1", ""},
	{"notification.toolkit.fluxcd.io", "v1beta2", []string{"Receiver"}, "", "", "v1", ""},
}

const podSecurity = "use Pod Security: spec.namespaces.podSecurity of a Tenant, or the label pod-security.kubernetes.io/enforce of a namespace"

// replacement is what to use instead of a version that is not served.
func replacement(gvk schema.GroupVersionKind) (removed, bool) {
	for _, r := range gone {
		if r.group == gvk.Group && r.version == gvk.Version && (r.kinds == nil || slices.Contains(r.kinds, gvk.Kind)) {
			if r.toGroup == "" {
				r.toGroup = r.group
			}
			return r, true
		}
	}
	return removed{}, false
}

// newest is the version that Kubernetes prefers: stable before beta before alpha, and
// higher before lower.
func newest(versions []string) string {
	return slices.MaxFunc(versions, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

func rank(version string) int {
	major, rest := number(strings.TrimPrefix(version, "v"))
	stability := 2
	if after, ok := strings.CutPrefix(rest, "beta"); ok {
		stability, rest = 1, after
	} else if after, ok := strings.CutPrefix(rest, "alpha"); ok {
		stability, rest = 0, after
	}
	minor, _ := number(rest)
	return stability*1_000_000 + major*1_000 + minor
}

func number(text string) (int, string) {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil {
		return 0, text
	}
	return n, text[end:]
}

// misspelt says that a group is probably meant to be another: one without a dot is
// Kubernetes' own, and none of these is unknown.
func (l *linter) misspelt(gvk schema.GroupVersionKind) (rule, what, mend string, to schema.GroupVersion, known bool) {
	for _, k := range l.fleet.Kinds.Kinds() {
		if k.Kind == gvk.Kind && (!strings.Contains(gvk.Group, ".") || nearest(gvk.Group, []string{k.Group}) != "") {
			return "unknown-kind", fmt.Sprintf("there is no API group %s", gvk.Group), "did you mean " + k.GroupVersion().String() + "?", to, true
		}
	}
	if !strings.Contains(gvk.Group, ".") {
		return "unknown-kind", fmt.Sprintf("there is no API group %s", gvk.Group), "", to, true
	}
	return "", "", "", to, false
}

// unserved says what is wrong with a kind that is not served, and what to use; false
// when nobody here knows its group.
func (l *linter) unserved(gvk schema.GroupVersionKind) (rule, what, mend string, to schema.GroupVersion, known bool) {
	if r, ok := replacement(gvk); ok {
		what = fmt.Sprintf("%s of %s is served no longer since %s", gvk.Kind, gvk.GroupVersion(), r.in)
		if r.in == "" {
			what = fmt.Sprintf("%s of %s is not served by Flux %s", gvk.Kind, gvk.GroupVersion(), flux)
		}
		if r.toVersion == "" {
			return "removed-api", what, r.instead, to, true
		}
		to = schema.GroupVersion{Group: r.toGroup, Version: r.toVersion}
		return "removed-api", what, "use apiVersion: " + to.String(), to, true
	}
	if minor := kinds.Since(gvk); minor != "" && minor != l.fleet.Kinds.Minor {
		return "newer-api", fmt.Sprintf("%s of %s is served from Kubernetes %s on, and this is checked for %s", gvk.Kind, gvk.GroupVersion(), minor, l.fleet.Kinds.Minor), "", to, true
	}
	if versions := l.fleet.Kinds.Versions(gvk.GroupKind()); len(versions) > 0 {
		to = schema.GroupVersion{Group: gvk.Group, Version: newest(versions)}
		by := "Kubernetes " + l.fleet.Kinds.Minor
		if k, ok := l.fleet.Kinds.Kind(to.WithKind(gvk.Kind)); ok && k.Custom {
			by = "its CRD"
			if strings.HasSuffix(gvk.Group, ".toolkit.fluxcd.io") {
				by = "Flux " + flux
			}
		}
		return "removed-api", fmt.Sprintf("%s of %s is not served by %s", gvk.Kind, gvk.GroupVersion(), by), "use apiVersion: " + to.String(), to, true
	}
	if !l.groups()[gvk.Group] {
		return l.misspelt(gvk)
	}
	var names []string
	for _, k := range l.fleet.Kinds.Kinds() {
		if k.Kind != gvk.Kind && k.Group == gvk.Group {
			names = append(names, k.Kind)
		} else if k.Kind == gvk.Kind {
			mend = fmt.Sprintf("%s is of %s: use that apiVersion", gvk.Kind, k.GroupVersion())
		}
	}
	if near := nearest(gvk.Kind, names); near != "" && mend == "" {
		mend = "did you mean " + near + "?"
	}
	return "unknown-kind", fmt.Sprintf("%s has no kind %s", gvk.GroupVersion(), gvk.Kind), mend, to, true
}
