// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/tenantry/tenantry/internal/admit"
	"github.com/tenantry/tenantry/internal/build"
)

// mistake is what an API server refuses by code, beyond what a schema says.
type mistake struct {
	path []any
	what string
}

// mistakes are those that people make most in objects of Kubernetes' own.
func mistakes(id build.ID, fields map[string]any) []mistake {
	var all []mistake
	if path, ok := admit.Pods(id.Kind); ok && (id.Group == "" || id.Group == "apps" || id.Group == "batch") {
		template, _ := build.Value(fields, path...).(map[string]any)
		if len(path) == 0 {
			template = fields
		}
		at := anys(path)
		all = append(all, podMistakes(id.Kind, template, at)...)
		if id.Group == "apps" {
			all = append(all, selectorMistakes(fields, template)...)
		}
	}
	switch {
	case id.Kind == "Service" && id.Group == "":
		all = append(all, serviceMistakes(fields)...)
	case (id.Kind == "RoleBinding" || id.Kind == "ClusterRoleBinding") && id.Group == "rbac.authorization.k8s.io":
		for i, s := range build.Items(fields, "subjects") {
			m, _ := s.(map[string]any)
			if m["kind"] == "ServiceAccount" && build.Text(m, "namespace") == "" {
				all = append(all, mistake{[]any{"subjects", i}, fmt.Sprintf("subjects[%d] is a ServiceAccount, and has no namespace", i)})
			}
		}
	}
	return all
}

func anys(path []string) []any {
	all := make([]any, len(path))
	for i, p := range path {
		all[i] = p
	}
	return all
}

// selectorMistakes are selectors that don't match what they are to select.
func selectorMistakes(fields, template map[string]any) []mistake {
	want, _ := build.Value(fields, "spec", "selector", "matchLabels").(map[string]any)
	has, _ := build.Value(template, "metadata", "labels").(map[string]any)
	set := labels.Set{}
	for k, v := range has {
		set[k] = fmt.Sprint(v)
	}
	for _, k := range sortedKeys(want) {
		if v := fmt.Sprint(want[k]); set[k] != v {
			return []mistake{{[]any{"spec", "selector", "matchLabels", k}, fmt.Sprintf("the selector wants %s=%s, and the template has it not among its labels", k, v)}}
		}
	}
	return nil
}

// podMistakes are those of a Pod or the template of one.
func podMistakes(kind string, template map[string]any, at []any) []mistake {
	var all []mistake
	spec, _ := template["spec"].(map[string]any)
	if spec == nil {
		return nil
	}
	within := func(path ...any) []any { return append(append(at[:len(at):len(at)], "spec"), path...) }
	if (kind == "Job" || kind == "CronJob") && !slices.Contains([]string{"Never", "OnFailure"}, build.Text(spec, "restartPolicy")) {
		all = append(all, mistake{within(), "restartPolicy of a " + kind + " has to be Never or OnFailure"})
	}
	volumes := map[string]bool{}
	for _, v := range build.Items(spec, "volumes") {
		m, _ := v.(map[string]any)
		volumes[build.Text(m, "name")] = true
	}
	if kind == "StatefulSet" {
		volumes = nil // its claims are volumes too
	}
	names := map[string]bool{}
	for _, list := range []string{"initContainers", "containers"} {
		for i, c := range build.Items(spec, list) {
			m, _ := c.(map[string]any)
			name := build.Text(m, "name")
			if names[name] && name != "" {
				all = append(all, mistake{within(list, i, "name"), fmt.Sprintf("there are two containers named %s", name)})
			}
			names[name] = true
			if build.Text(m, "image") == "" {
				all = append(all, mistake{within(list, i), fmt.Sprintf("container %s has no image", name)})
			}
			for j, v := range build.Items(m, "volumeMounts") {
				mount, _ := v.(map[string]any)
				if volume := build.Text(mount, "name"); volumes != nil && volume != "" && !volumes[volume] {
					all = append(all, mistake{within(list, i, "volumeMounts", j, "name"), fmt.Sprintf("container %s mounts volume %s, which the Pod does not have", name, volume)})
				}
			}
			all = append(all, resourceMistakes(m, within(list, i, "resources", "requests"))...)
		}
	}
	return all
}

// resourceMistakes are requests above their limits.
func resourceMistakes(container map[string]any, at []any) []mistake {
	requests, _ := build.Value(container, "resources", "requests").(map[string]any)
	limits, _ := build.Value(container, "resources", "limits").(map[string]any)
	for _, name := range sortedKeys(requests) {
		if limits[name] == nil {
			continue
		}
		request, err := resource.ParseQuantity(fmt.Sprint(requests[name]))
		if err != nil {
			continue
		}
		limit, err := resource.ParseQuantity(fmt.Sprint(limits[name]))
		if err == nil && request.Cmp(limit) > 0 {
			return []mistake{{append(at, name), fmt.Sprintf("the request for %s (%s) is above its limit (%s)", name, request.String(), limit.String())}}
		}
	}
	return nil
}

const maxPort = 65535

// serviceMistakes are ports that can't be told apart, or that there are not.
func serviceMistakes(fields map[string]any) []mistake {
	var all []mistake
	ports := build.Items(fields, "spec", "ports")
	names := map[string]bool{}
	for i, p := range ports {
		m, _ := p.(map[string]any)
		name := build.Text(m, "name")
		switch {
		case name == "" && len(ports) > 1:
			all = append(all, mistake{[]any{"spec", "ports", i}, "a Service with several ports names each of them"})
		case name != "" && names[name]:
			all = append(all, mistake{[]any{"spec", "ports", i, "name"}, fmt.Sprintf("there are two ports named %s", name)})
		}
		names[name] = true
		if port, ok := m["port"].(int64); ok && (port < 1 || port > maxPort) {
			all = append(all, mistake{[]any{"spec", "ports", i, "port"}, fmt.Sprintf("port %d is not between 1 and %d", port, maxPort)})
		}
	}
	if len(all) > 1 && len(ports) > 1 {
		return all[:1]
	}
	return all
}
