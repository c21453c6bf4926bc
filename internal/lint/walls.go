// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/render"
)

// lockdown are the flags that Flux's controllers need where tenants share a cluster.
// https://fluxcd.io/flux/installation/configuration/multitenancy/
var lockdown = map[string][]string{
	"--no-cross-namespace-refs=true": {"kustomize-controller", "helm-controller", "notification-controller", "image-reflector-controller", "image-automation-controller", "source-watcher"},
	"--no-remote-bases=true":         {"kustomize-controller"},
	"--default-service-account=":     {"kustomize-controller", "helm-controller"},
}

// always are the controllers that every Flux has; of the others nothing is known before
// bootstrap has written what there is.
var always = []string{"kustomize-controller", "helm-controller", "notification-controller"}

// enclosed tells whether Flux refuses references between namespaces.
func enclosed(c *render.Cluster) bool {
	return slices.ContainsFunc(c.Flux, func(o *render.Object) bool {
		return o.Name == "kustomize-controller" && hasFlag(o, "--no-cross-namespace-refs=true")
	})
}

// walls notes what a cluster with tenants lacks.
func (l *linter) walls(c *render.Cluster) {
	locked := l.locked(c)
	if locked {
		l.unaccounted(c)
	}
	if len(c.Tenants) == 0 || build.Broken(c.Problems) {
		return
	}
	first := c.Tenants[0].Object
	var there *render.Object
	for _, o := range c.Objects {
		if o.Kind == "ValidatingAdmissionPolicy" && o.Name == policy.Namespaces.ObjectName() {
			there = o
		}
	}
	if there == nil {
		if len(c.Absent) == 0 {
			l.about("walls-missing", c, first, nil, "cluster "+c.Name+" gets Tenants, and none of Tenantry's policies", "")
		}
		return
	}
	l.age(c, there)
	l.order(c, there.Sync)
}

// locked notes missing lockdown flags, and tells whether Flux acts as nobody by default.
func (l *linter) locked(c *render.Cluster) bool {
	if len(c.Flux) == 0 {
		return l.operated(c)
	}
	byDefault := false
	var lacking []string
	var first *render.Object
	for _, flag := range sortedKeys(lockdown) {
		var without []*render.Object
		for _, o := range c.Flux {
			if !slices.Contains(lockdown[flag], o.Name) || o.Stub && !slices.Contains(always, o.Name) {
				continue
			}
			if !hasFlag(o, flag) {
				without = append(without, o)
			} else if strings.HasPrefix(flag, "--default-service-account") {
				byDefault = true
			}
		}
		if len(without) == 0 || !shared(c) {
			continue
		}
		var names []string
		for _, o := range without {
			names = append(names, o.Name)
		}
		lacking, first = append(lacking, strings.TrimSuffix(flag, "=")+" ("+strings.Join(names, ", ")+")"), without[0]
	}
	if first != nil {
		l.about("lockdown-missing", c, first, nil, fmt.Sprintf("cluster %s is shared, and Flux lacks %s", c.Name, strings.Join(lacking, ", ")), "")
	}
	return byDefault
}

// operated looks at the object of the Flux operator, which sets the flags itself.
func (l *linter) operated(c *render.Cluster) bool {
	for _, o := range c.Objects {
		if o.Kind == "FluxInstance" && o.Group == "fluxcd.controlplane.io" {
			if multitenant, _ := build.Value(o.Fields, "spec", "cluster", "multitenant").(bool); multitenant {
				return true
			}
			if shared(c) {
				l.about("lockdown-missing", c, o, []any{"spec", "cluster"}, "cluster "+c.Name+" is shared, and spec.cluster.multitenant is not true", "say multitenant: true")
			}
		}
	}
	return false
}

// shared tells whether others than the platform apply anything: Tenants, or Kustomizations
// that act as accounts of their own.
func shared(c *render.Cluster) bool {
	return len(c.Tenants) > 0 || slices.ContainsFunc(c.Syncs, func(s *render.Sync) bool {
		return s.Account != "" && s.ID.Namespace != fluxSystem
	})
}

func hasFlag(o *render.Object, flag string) bool {
	for _, container := range build.Items(o.Fields, "spec", "template", "spec", "containers") {
		m, _ := container.(map[string]any)
		for _, arg := range build.Items(m, "args") {
			if text, _ := arg.(string); text == flag || text == strings.TrimSuffix(flag, "=true") || strings.HasSuffix(flag, "=") && strings.HasPrefix(text, flag) && text != flag {
				return true
			}
		}
	}
	return false
}

// unaccounted notes what acts as nobody.
func (l *linter) unaccounted(c *render.Cluster) {
	for _, o := range c.Objects {
		applies := o.Kind == "Kustomization" && o.Group == "kustomize.toolkit.fluxcd.io" || o.Kind == "HelmRelease" && o.Group == "helm.toolkit.fluxcd.io"
		if !applies || o.Tenant() != nil || build.Text(o.Fields, "spec", "serviceAccountName") != "" || build.Value(o.Fields, "spec", "kubeConfig") != nil {
			continue // of a tenant's the policies tell
		}
		l.about("account-missing", c, o, []any{"spec"}, o.String()+" names no service account, and Flux's lockdown lets it act as "+o.Namespace+"/default", "")
	}
}

// age notes walls of another version: some rule is not as this one has it.
func (l *linter) age(c *render.Cluster, there *render.Object) {
	expressions := map[string][]string{}
	for _, o := range c.Objects {
		if o.Kind != "ValidatingAdmissionPolicy" {
			continue
		}
		for _, v := range build.Items(o.Fields, "spec", "validations") {
			m, _ := v.(map[string]any)
			message := build.Text(m, "message")
			expressions[message] = append(expressions[message], build.Text(m, "expression"))
		}
	}
	for _, p := range policy.All() {
		for _, r := range p.Rules {
			if !slices.ContainsFunc(expressions[policy.Message(p.Rule(r))], func(e string) bool { return strings.Contains(e, r.CEL) }) {
				l.about("walls-old", c, there, nil, "rule "+p.Rule(r)+" is not as this version of tenantry has it", "")
				return
			}
		}
	}
}

// order notes tenants that may be applied before the walls stand.
func (l *linter) order(c *render.Cluster, walls *render.Sync) {
	syncs := map[string]*render.Sync{}
	for _, s := range c.Syncs {
		syncs[nameOf(s)] = s
	}
	var reaches func(s *render.Sync, seen map[*render.Sync]bool) bool
	reaches = func(s *render.Sync, seen map[*render.Sync]bool) bool {
		if s == nil || seen[s] {
			return false
		}
		seen[s] = true
		for _, d := range s.Spec.DependsOn {
			namespace := d.Namespace
			if namespace == "" {
				namespace = s.ID.Namespace
			}
			on := syncs[namespace+"/"+d.Name]
			if on == nil {
				return true // told already
			}
			if on == walls && (walls.Spec.Wait || len(walls.Spec.HealthChecks) > 0) || on != walls && reaches(on, seen) {
				return true
			}
		}
		return false
	}
	told := map[*render.Sync]bool{}
	for _, t := range c.Tenants {
		s := t.Object.Sync
		if told[s] || reaches(s, map[*render.Sync]bool{}) {
			continue
		}
		told[s] = true
		what := "Kustomization " + nameOf(s) + " brings tenants and does not wait for " + nameOf(walls) + ", which brings the policies"
		if s == walls {
			what = "Kustomization " + nameOf(s) + " brings tenants and policies at once"
		}
		at := t.Object
		if s.Object != nil {
			at = s.Object
		}
		l.about("walls-order", c, at, []any{"spec"}, what, "")
	}
}
