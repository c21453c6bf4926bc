// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/tree"
)

// controllers are those of Flux that may be on a cluster.
var controllers = []string{
	"source-controller", "kustomize-controller", "helm-controller", "notification-controller",
	"image-reflector-controller", "image-automation-controller", "source-watcher",
}

// bootstrapped stand in for Flux's controllers in a flux-system directory that has the
// sync and not yet the components that `flux bootstrap` writes beside it.
func bootstrapped(file string, kustomization *yaml.Node, there []*Object) []*Object {
	syncs := slices.ContainsFunc(tree.Items(kustomization, "resources"), func(n *yaml.Node) bool { return n.Value == "gotk-sync.yaml" })
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	if !syncs || slices.ContainsFunc(there, func(o *Object) bool { return o.GroupVersionKind == deployment }) {
		return nil
	}
	var all []*Object
	for _, name := range controllers {
		stub := map[string]any{
			"apiVersion": "apps/v1", "kind": deployment.Kind, "metadata": map[string]any{"name": name, "namespace": "flux-system"},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"serviceAccountName": name,
				"containers":         []any{map[string]any{"name": "manager", "args": []any{"--watch-all-namespaces=true"}}},
			}}},
		}
		n, err := tree.ToNode(stub)
		if err != nil {
			return nil // it is YAML
		}
		o := Written(file, n)
		o.Stub = true
		all = append(all, o)
	}
	return all
}
