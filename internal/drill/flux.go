// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/render"
)

// kept are the arguments of Flux's controllers that decide what tenants may and how
// objects are read. Others are about where it runs.
var kept = []string{
	"--no-cross-namespace-refs", "--no-remote-bases", "--default-service-account", "--default-kubeconfig-service-account",
	"--default-decryption-service-account", "--feature-gates", "--override-manager", "--sops-age-secret", "--insecure-allow-http",
	"--helm-index-max-size", "--helm-chart-max-size", "--disallowed-field-managers",
}

// FluxArgs are those arguments of Flux's controllers that the fleet declares, by their
// names; nil where it declares no Flux.
func FluxArgs(c *render.Cluster) map[string][]string {
	var all map[string][]string
	for _, d := range c.Flux {
		containers, _, _ := unstructured.NestedSlice(d.Fields, "spec", "template", "spec", "containers")
		for _, container := range containers {
			fields, _ := container.(map[string]any)
			args, _, _ := unstructured.NestedStringSlice(fields, "args")
			if all == nil {
				all = map[string][]string{}
			}
			all[d.Name] = []string{}
			for _, a := range args {
				if name, _, _ := strings.Cut(a, "="); slices.Contains(kept, name) {
					all[d.Name] = append(all[d.Name], a)
				}
			}
		}
	}
	return all
}

// RootURL is that of the repository from which a cluster is synced, or "" where nothing
// says it.
func RootURL(c *render.Cluster) string {
	for _, o := range c.Objects {
		if o.Namespace == local.FluxNamespace && o.Name == local.FluxNamespace && strings.HasSuffix(o.Kind, "Repository") {
			url, _, _ := unstructured.NestedString(o.Fields, "spec", "url")
			return url
		}
	}
	return ""
}
