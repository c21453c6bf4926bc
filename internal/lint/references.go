// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/words"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
)

const fluxSystem = "flux-system"

func clean(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// names are the objects of a cluster by kind, namespace and name: what may be referred to.
type names struct {
	objects map[[3]string]*render.Object
	// of a kind in a namespace
	of map[[2]string][]string
}

func namesOf(c *render.Cluster) names {
	n := names{objects: make(map[[3]string]*render.Object, len(c.Objects)), of: map[[2]string][]string{}}
	for _, o := range c.Objects {
		n.add(o.Kind, o.Namespace, o.Name, o)
		switch o.Kind { // what makes a Secret counts as one
		case "ExternalSecret":
			n.add("Secret", o.Namespace, cmp.Or(build.Text(o.Fields, "spec", "target", "name"), o.Name), o)
		case "SealedSecret", "Certificate":
			n.add("Secret", o.Namespace, cmp.Or(build.Text(o.Fields, "spec", "secretName"), o.Name), o)
		}
	}
	return n
}

func (n names) add(kind, namespace, name string, o *render.Object) {
	n.objects[[3]string{kind, namespace, name}] = o
	n.of[[2]string{kind, namespace}] = append(n.of[[2]string{kind, namespace}], name)
}

func (n names) has(kind, namespace, name string) bool {
	return n.objects[[3]string{kind, namespace, name}] != nil
}

// near is a hint at what else of a kind there is in a namespace.
func (n names) near(kind, namespace, name string) string {
	there := slices.Clone(n.of[[2]string{kind, namespace}])
	const most = 8
	if near := words.Nearest(name, there); near != "" {
		return "did you mean " + near + "?"
	}
	if len(there) == 0 || len(there) > most {
		return ""
	}
	slices.Sort(there)
	return "there is " + strings.Join(slices.Compact(there), ", ")
}

// references notes what leads nowhere.
func (l *linter) references(c *render.Cluster) {
	there := namesOf(c)
	for _, s := range c.Syncs {
		if s.Object == nil {
			continue
		}
		l.source(c, there, s)
		l.account(c, there, s.Object, s.Spec.ServiceAccountName)
		if d := s.Spec.Decryption; d != nil && d.SecretRef != nil {
			l.secret(c, there, s.Object, d.SecretRef.Name, "spec", "decryption", "secretRef", "name")
		}
		if k := s.Spec.KubeConfig; k != nil && k.SecretRef != nil {
			l.secret(c, there, s.Object, k.SecretRef.Name, "spec", "kubeConfig", "secretRef", "name")
		}
	}
	for _, o := range c.Objects {
		switch o.Group {
		case "source.toolkit.fluxcd.io":
			for _, ref := range [][]any{{"spec", "secretRef", "name"}, {"spec", "verify", "secretRef", "name"}, {"spec", "certSecretRef", "name"}, {"spec", "proxySecretRef", "name"}} {
				if name := build.Text(o.Fields, strs(ref)...); name != "" && (name != fluxSystem || o.Namespace != fluxSystem) {
					l.secret(c, there, o, name, ref...)
				}
			}
		case "notification.toolkit.fluxcd.io":
			if name := build.Text(o.Fields, "spec", "providerRef", "name"); o.Kind == "Alert" && name != "" && !there.has("Provider", o.Namespace, name) {
				l.about("dangling-provider", c, o, []any{"spec", "providerRef", "name"}, fmt.Sprintf("Provider %s/%s is not there", o.Namespace, name), there.near("Provider", o.Namespace, name))
			}
		case "helm.toolkit.fluxcd.io":
			l.account(c, there, o, build.Text(o.Fields, "spec", "serviceAccountName"))
			l.chart(c, there, o)
		}
	}
	l.dependencies(c, there)
	for _, t := range c.Tenants {
		if t.Plan == nil { // otherwise its objects were looked at
			l.tenantReferences(c, there, t)
		}
	}
}

// source notes a Kustomization whose source is not there, or in another namespace.
func (l *linter) source(c *render.Cluster, there names, s *render.Sync) {
	ref := s.Spec.SourceRef
	namespace := ref.Namespace
	if namespace == "" {
		namespace = s.ID.Namespace
	}
	if namespace != s.ID.Namespace && s.ID.Namespace != fluxSystem {
		l.foreign(c, s.Object, []any{"spec", "sourceRef", "namespace"}, ref.Kind, namespace, ref.Name)
		return
	}
	if s.Builder == nil && s.Source == nil && ref.Name != "" && s.ID.Namespace != "" {
		l.about("dangling-source", c, s.Object, []any{"spec", "sourceRef", "name"}, fmt.Sprintf("%s %s/%s is not there", ref.Kind, namespace, ref.Name), there.near(ref.Kind, namespace, ref.Name))
	}
}

func (l *linter) foreign(c *render.Cluster, o *render.Object, at []any, kind, namespace, name string) {
	if o.Tenant() != nil || !enclosed(c) {
		return // the policies tell; and without lockdown Flux allows it
	}
	l.about("foreign-reference", c, o, at, fmt.Sprintf("it refers to %s %s/%s, in another namespace", kind, namespace, name), "")
}

// chart notes a HelmRelease whose source is not there.
func (l *linter) chart(c *render.Cluster, there names, o *render.Object) {
	if t := o.Tenant(); t != nil && c.TenantOf(o.Namespace) != t {
		return // it is in no place of its own, and that is told
	}
	for _, at := range [][]any{{"spec", "chart", "spec", "sourceRef"}, {"spec", "chartRef"}} {
		ref, _ := build.Value(o.Fields, strs(at)...).(map[string]any)
		name := build.Text(ref, "name")
		if name == "" {
			continue
		}
		kind, namespace := build.Text(ref, "kind"), build.Text(ref, "namespace")
		if namespace == "" {
			namespace = o.Namespace
		}
		if namespace != o.Namespace && o.Namespace != fluxSystem {
			l.foreign(c, o, append(at, "namespace"), kind, namespace, name)
			continue
		}
		if !there.has(kind, namespace, name) && (name != fluxSystem || namespace != fluxSystem) {
			l.about("dangling-source", c, o, append(at, "name"), fmt.Sprintf("%s %s/%s is not there", kind, namespace, name), there.near(kind, namespace, name))
		}
	}
}

func strs(path []any) []string {
	var all []string
	for _, p := range path {
		all = append(all, p.(string))
	}
	return all
}

// account notes an account that nothing makes.
func (l *linter) account(c *render.Cluster, there names, o *render.Object, name string) {
	if name == "" || name == "default" || o.Namespace == fluxSystem && strings.HasSuffix(name, "-controller") || there.has("ServiceAccount", o.Namespace, name) {
		return
	}
	if t := c.TenantOf(o.Namespace); t != nil && t.Tenant.Name == name {
		return // the controller makes it
	}
	if o.Tenant() != nil && c.TenantOf(o.Namespace) != nil {
		return // the policies tell which account it has to be
	}
	l.about("dangling-account", c, o, []any{"spec", "serviceAccountName"}, fmt.Sprintf("there is no ServiceAccount %s in namespace %s", name, o.Namespace), there.near("ServiceAccount", o.Namespace, name))
}

// secret notes a Secret that nothing makes.
func (l *linter) secret(c *render.Cluster, there names, o *render.Object, name string, at ...any) {
	if !there.has("Secret", o.Namespace, name) {
		l.about("dangling-secret", c, o, at, fmt.Sprintf("Secret %s/%s is not in the fleet", o.Namespace, name), there.near("Secret", o.Namespace, name))
	}
}

// waits is something that waits for others.
type waits struct {
	object *render.Object
	name   string
	on     []string
	at     [][]any
}

// dependencies notes dependsOn that leads nowhere or in a circle.
func (l *linter) dependencies(c *render.Cluster, there names) {
	for _, kind := range []string{"Kustomization", "HelmRelease"} {
		all := map[string]*waits{}
		for _, o := range c.Objects {
			if o.Kind != kind || !strings.HasSuffix(o.Group, ".toolkit.fluxcd.io") {
				continue
			}
			w := &waits{object: o, name: o.Namespace + "/" + o.Name}
			for i, d := range build.Items(o.Fields, "spec", "dependsOn") {
				dep, _ := d.(map[string]any)
				namespace := build.Text(dep, "namespace")
				if namespace == "" {
					namespace = o.Namespace
				}
				w.on = append(w.on, namespace+"/"+build.Text(dep, "name"))
				w.at = append(w.at, []any{"spec", "dependsOn", i, "name"})
			}
			all[w.name] = w
		}
		for _, name := range sortedKeys(all) {
			w := all[name]
			for i, on := range w.on {
				if all[on] == nil {
					namespace, bare, _ := strings.Cut(on, "/")
					l.about("dangling-dependency", c, w.object, w.at[i], fmt.Sprintf("%s %s is not there", kind, on), there.near(kind, namespace, bare))
				}
			}
		}
		for _, circle := range circles(all) {
			w := all[circle[0]]
			l.about("dependency-cycle", c, w.object, w.at[slices.Index(w.on, circle[1])], "it waits for itself: "+strings.Join(circle, " -> "), "")
		}
	}
}

// circles are the ways back to where one began, each once, from its first name.
func circles(all map[string]*waits) [][]string {
	const ( // how far a walk has come with one
		begun = iota + 1
		done
	)
	var found [][]string
	state := map[string]int{}
	var walk func(name string, above []string)
	walk = func(name string, above []string) {
		if state[name] == done || all[name] == nil {
			return
		}
		if state[name] == begun {
			circle := slices.Clone(above[slices.Index(above, name):])
			first := slices.Index(circle, slices.Min(circle))
			circle = append(slices.Clone(circle[first:]), circle[:first]...)
			found = append(found, append(circle, circle[0]))
			return
		}
		state[name] = begun
		for _, on := range all[name].on {
			walk(on, append(above[:len(above):len(above)], name))
		}
		state[name] = done
	}
	for _, name := range sortedKeys(all) {
		walk(name, nil)
	}
	return found
}

// tenantReferences notes what a Tenant's own syncs name and nothing makes, where the
// Tenant was not compiled because its repositories are not at hand.
func (l *linter) tenantReferences(c *render.Cluster, there names, t *render.Tenant) {
	all := map[string]*waits{}
	for i, s := range t.Tenant.Spec.Syncs {
		w := &waits{object: t.Object, name: s.Name, on: s.DependsOn}
		for j := range s.DependsOn {
			w.at = append(w.at, []any{"spec", "syncs", i, "dependsOn", j})
		}
		all[s.Name] = w
		for _, ref := range secretsOf(s) {
			if !there.has("Secret", t.Tenant.Name, ref.name) {
				l.about("dangling-secret", c, t.Object, append([]any{"spec", "syncs", i}, ref.at...), fmt.Sprintf("Secret %s/%s is not in the fleet", t.Tenant.Name, ref.name), "")
			}
		}
	}
	for _, name := range sortedKeys(all) {
		w := all[name]
		for i, on := range w.on {
			if all[on] == nil {
				l.about("dangling-dependency", c, t.Object, w.at[i], fmt.Sprintf("the tenant has no sync %s", on), "")
			}
		}
	}
	for _, circle := range circles(all) {
		w := all[circle[0]]
		l.about("dependency-cycle", c, t.Object, w.at[slices.Index(w.on, circle[1])], "it waits for itself: "+strings.Join(circle, " -> "), "")
	}
}

type secretRef struct {
	name string
	at   []any
}

// secretsOf are the Secrets that a sync names.
func secretsOf(s v1alpha1.Sync) []secretRef {
	var all []secretRef
	add := func(r *v1alpha1.LocalReference, at ...any) {
		if r != nil {
			all = append(all, secretRef{r.Name, append(at, "name")})
		}
	}
	switch {
	case s.Source.Git != nil:
		add(s.Source.Git.SecretRef, "source", "git", "secretRef")
		if v := s.Source.Git.Verify; v != nil {
			add(&v.SecretRef, "source", "git", "verify", "secretRef")
		}
	case s.Source.OCI != nil:
		add(s.Source.OCI.SecretRef, "source", "oci", "secretRef")
		if v := s.Source.OCI.Verify; v != nil {
			add(v.SecretRef, "source", "oci", "verify", "secretRef")
		}
	case s.Source.Bucket != nil:
		add(s.Source.Bucket.SecretRef, "source", "bucket", "secretRef")
	}
	if d := s.Decryption; d != nil {
		add(&d.SecretRef, "decryption", "secretRef")
	}
	return all
}
