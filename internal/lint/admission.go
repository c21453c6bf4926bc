// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/admit"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
)

// admission plays what tenants' repositories declare against the walls.
func (l *linter) admission(c *render.Cluster) error {
	var theirs []*render.Object
	for _, o := range c.Objects {
		if o.Tenant() != nil {
			theirs = append(theirs, o)
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	l.limits(c)
	rights, err := rightsOf(c)
	if err != nil {
		return err
	}
	for _, o := range theirs {
		if o.Sync.ToBeRefused() {
			continue
		}
		if o.Account() == "" || l.broken[reflect.ValueOf(o.Fields).Pointer()] {
			continue // told already: nobody applies it, or nothing takes it
		}
		l.admitted(c, o, rights)
	}
	return nil
}

// rightsOf are the rights in a cluster that the platform gives. What a tenant binds itself
// gives nothing here: whether it may, only a cluster can tell.
func rightsOf(c *render.Cluster) (*admit.Rights, error) {
	var objects []map[string]any
	for _, o := range c.Objects {
		if o.Group == "rbac.authorization.k8s.io" && o.Tenant() == nil {
			objects = append(objects, o.Fields)
		}
	}
	return admit.NewRights(objects...)
}

// admitted plays one object.
func (l *linter) admitted(c *render.Cluster, o *render.Object, rights *admit.Rights) {
	k, ok := l.fleet.Kinds.Kind(o.GroupVersionKind)
	if !ok || k.Namespaced && o.Namespace == "" {
		return // nothing is known of it, or that is told
	}
	t := o.Tenant().Tenant
	q := admit.Request{Object: o.Fields, Kind: o.GroupVersionKind, Resource: k.Resource, Namespaced: k.Namespaced}
	q.User, q.Groups = who(o)
	if k.Namespaced {
		q.Namespace = namespaceOf(c, o.Namespace)
	}
	if there := c.Compiled(o.ID); there != nil && !made(t, o) {
		q.Old, q.Object = there.Fields, build.Merged(there.Fields, o.Fields)
	} else if o.Kind == "Namespace" && o.Group == "" && l.stamps() {
		q.Object = admit.Stamped(q, rights)
	}
	if ok, verb := rights.MayApply(q); !ok {
		l.refused(c, o, k.Resource, verb, q.User)
		return
	}
	for _, d := range l.policies.Deny(context.Background(), q, rights) {
		if d.Rule == "namespaces/grow" && t.Spec.Namespaces.SelfService != nil && !t.Spec.Cordoned {
			continue // how many there are is counted for all together
		}
		l.about(d.Rule, c, o, pathFor(d, o), d.Message, "")
	}
	if why := admit.PodSecurity(q); why != "" {
		path, _ := admit.Pods(o.Kind)
		at := []any{}
		for _, p := range path {
			at = append(at, p)
		}
		l.about("pod-security", c, o, append(at, "spec"), "namespace "+o.Namespace+" enforces "+why, "")
	}
}

// who applies an object.
func who(o *render.Object) (string, []string) {
	namespace, name, _ := strings.Cut(strings.TrimPrefix(o.Account(), "system:serviceaccount:"), ":")
	return admit.Account(namespace, name)
}

// made tells whether a Namespace is one that the tenant makes itself.
func made(t *v1alpha1.Tenant, o *render.Object) bool {
	return o.Kind == "Namespace" && strings.HasPrefix(o.Name, t.Name+"-")
}

// stamps tells whether the cluster has mutating policies, which label new namespaces.
func (l *linter) stamps() bool { return l.fleet.Kinds.Minor != "1.34" && l.fleet.Kinds.Minor != "1.35" }

// namespaceOf is a namespace as policies see it: as Tenantry compiles it, if it does.
func namespaceOf(c *render.Cluster, name string) map[string]any {
	if o := c.Compiled(build.ID{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"), Name: name}); o != nil {
		return o.Fields
	}
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
}

// refused notes what RBAC would not let pass.
func (l *linter) refused(c *render.Cluster, o *render.Object, resource, verb, user string) {
	t := o.Tenant().Tenant
	if o.Namespace != "" && c.TenantOf(o.Namespace) != o.Tenant() {
		whose := "no namespace of tenant " + t.Name
		if other := c.TenantOf(o.Namespace); other != nil {
			whose = "tenant " + other.Tenant.Name + "'s"
		}
		l.about("outside-tenant", c, o, []any{"metadata", "namespace"}, fmt.Sprintf("namespace %s is %s", o.Namespace, whose), "")
		return
	}
	if group := o.Group; group != "" {
		resource += "." + group
	}
	l.about("rbac", c, o, []any{"kind"}, fmt.Sprintf("%s may not %s %s", user, verb, resource), "")
}

// pathFor is the field that a refusal is probably about: the first that its message names.
func pathFor(d admit.Denial, o *render.Object) []any {
	for _, word := range strings.Fields(d.Message) {
		word = strings.Trim(word, `:,;"'`)
		if strings.HasPrefix(word, "spec.") || strings.HasPrefix(word, "metadata.") {
			path := []any{}
			for _, p := range strings.Split(word, ".") {
				path = append(path, p)
			}
			return path
		}
		if path := pathOf(o.Fields["spec"], word); len(path) > 0 && len(word) > 3 {
			if v, ok := valueAt(o.Fields["spec"], path).(string); ok && v == word {
				return append([]any{"spec"}, path...)
			}
		}
		if path := keyPath(o.Fields, word); path != nil {
			return path
		}
	}
	return nil
}

func valueAt(v any, path []any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			list, _ := v.([]any)
			if key >= len(list) {
				return nil
			}
			v = list[key]
		}
	}
	return v
}

// keyPath is the path of the first field of a name.
func keyPath(v any, name string) []any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if k == name {
				return []any{k}
			}
			if path := keyPath(v[k], name); path != nil {
				return append([]any{k}, path...)
			}
		}
	case []any:
		for i, sub := range v {
			if path := keyPath(sub, name); path != nil {
				return append([]any{i}, path...)
			}
		}
	}
	return nil
}
