// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/tree"
)

// With renders a directory with fields that a Flux Kustomization puts into its
// kustomization: a namespace, prefix and suffix replace what is there, patches, images
// and components come after it.
func (b *Builder) With(dir string, over map[string]any) *Result {
	if len(over) == 0 {
		return b.Build(dir)
	}
	plain := b.Build(dir) // for problems that kustomize would tell one by one
	if Broken(plain.Problems) {
		return plain
	}
	if problem := b.overProblem(path.Clean(dir), over); problem != nil {
		return &Result{Problems: []Problem{*problem}}
	}
	if namespace, _ := over["namespace"].(string); namespace != "" && len(over) == 1 && movable(plain.Objects) {
		return moved(plain, namespace)
	}
	dir = b.tree.Real(path.Clean(dir))
	content, err := json.Marshal(over)
	if err != nil {
		return &Result{Problems: []Problem{b.told(dir, err)}}
	}
	key := dir + "\x00" + string(content) // no path has such a name
	b.mu.Lock()
	r, ok := b.built[key]
	b.mu.Unlock()
	if ok {
		return r
	}
	r = b.slow(dir, over)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.built[key] = r
	return r
}

// lodgers are kinds of which a namespace is all that says where they are: nothing else in
// them names it, and kustomize changes nothing else.
var lodgers = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "Service"}: true, {Kind: "ServiceAccount"}: true, {Kind: "PersistentVolumeClaim"}: true,
	{Kind: "LimitRange"}: true, {Kind: "ResourceQuota"}: true,
	{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "StatefulSet"}: true, {Group: "apps", Kind: "DaemonSet"}: true,
	{Group: "batch", Kind: "Job"}: true, {Group: "batch", Kind: "CronJob"}: true, {Group: "networking.k8s.io", Kind: "Ingress"}: true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: true, {Group: "policy", Kind: "PodDisruptionBudget"}: true,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: true, {Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}: true,
}

// movable tells whether objects are put into a namespace by saying so in their metadata: as
// one template is for each of many tenants.
func movable(all []*Object) bool {
	seen := map[ID]bool{}
	for _, o := range all {
		id := o.ID
		id.Namespace = ""
		if !lodgers[o.GroupKind()] || seen[id] {
			return false
		}
		seen[id] = true
	}
	return true
}

func moved(plain *Result, namespace string) *Result {
	r := &Result{Problems: plain.Problems}
	for _, o := range plain.Objects {
		fields, problem := o.Fields()
		if problem != nil {
			return &Result{Problems: []Problem{*problem}}
		}
		r.Objects = append(r.Objects, Made(o, In(fields, namespace)))
	}
	return r
}

// overProblem refuses components that are not in the tree.
func (b *Builder) overProblem(dir string, over map[string]any) *Problem {
	names, _ := over["components"].([]string)
	for _, name := range names {
		target := path.Join(dir, name)
		at := Place{File: b.tree.Full(dir)}
		switch {
		case tree.IsRemote(name):
			return &Problem{Rule: "remote-base", Place: at, What: "component " + name + " is fetched from elsewhere", Mend: "bring it into the repository"}
		case target == ".." || strings.HasPrefix(target, "../") || path.IsAbs(name):
			return &Problem{Rule: "path-outside", Place: at, What: "component " + name + " leads out of the repository", Mend: "name a path inside of it"}
		case b.tree.KustomizationIn(target) == "":
			return &Problem{Rule: "path-missing", Place: at, What: "component " + name + " is not there", Mend: "name a directory with a kustomization.yaml of kind Component"}
		}
		if problem := b.refuse(target); problem != nil {
			return problem
		}
	}
	return nil
}

// merged is the kustomization of a directory with further fields; of one that has none,
// the one that Flux makes for it.
func (b *Builder) merged(dir string, over map[string]any) ([]byte, error) {
	k := map[string]any{}
	if file := b.tree.KustomizationIn(dir); file != "" {
		content, err := b.tree.Read(file)
		if err == nil {
			err = yaml.Unmarshal(content, &k)
		}
		if err != nil {
			return nil, err
		}
	} else {
		var resources []any
		for _, name := range b.resourcesIn(dir, "") {
			resources = append(resources, name)
		}
		k["resources"] = resources
	}
	content, err := json.Marshal(over)
	if err != nil {
		return nil, err
	}
	more := map[string]any{}
	if err := json.Unmarshal(content, &more); err != nil {
		return nil, err
	}
	for name, v := range more {
		list, ok := v.([]any)
		if !ok {
			k[name] = v
			continue
		}
		there, _ := k[name].([]any)
		k[name] = append(there, list...)
	}
	return yaml.Marshal(k)
}

// resourcesIn are what Flux lists for a directory without a kustomization.
func (b *Builder) resourcesIn(dir, below string) []string {
	var all []string
	for _, name := range b.tree.List(dir) {
		sub, isDir := strings.CutSuffix(name, "/")
		rel := path.Join(below, sub)
		switch {
		case b.tree.Ignored(path.Join(dir, sub), isDir):
		case isDir && b.tree.KustomizationIn(path.Join(dir, sub)) != "":
			all = append(all, rel)
		case isDir:
			all = append(all, b.resourcesIn(path.Join(dir, sub), rel)...)
		case tree.IsYAML(name):
			all = append(all, rel)
		}
	}
	return all
}
