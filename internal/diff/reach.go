// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"
)

// hold is one role of somebody in one namespace; in "" of the whole cluster.
type hold struct{ who, role, namespace, tenant string }

// reach compares who has which role where.
func (d *Diff) reach(cluster string, before, after []Object) {
	was, is := holdsOf(before), holdsOf(after)
	for _, side := range []struct {
		of, other map[hold]bool
		gained    bool
	}{{is, was, true}, {was, is, false}} {
		type key struct{ who, role, tenant string }
		grouped := map[key][]string{}
		for h := range side.of {
			if !side.other[h] {
				k := key{h.who, h.role, h.tenant}
				grouped[k] = append(grouped[k], h.namespace)
			}
		}
		for k, namespaces := range grouped {
			slices.Sort(namespaces)
			if slices.Contains(namespaces, "") {
				d.Reach = append(d.Reach, Reach{Clusters: []string{cluster}, Who: k.who, Role: k.role, Gained: side.gained, Tenant: k.tenant})
				namespaces = slices.DeleteFunc(namespaces, func(n string) bool { return n == "" })
			}
			if len(namespaces) > 0 {
				d.Reach = append(d.Reach, Reach{Clusters: []string{cluster}, Who: k.who, Role: k.role, Namespaces: namespaces, Gained: side.gained, Tenant: k.tenant})
			}
		}
	}
}

// holdsOf are the roles that bindings give.
func holdsOf(objects []Object) map[hold]bool {
	all := map[hold]bool{}
	for _, o := range objects {
		if o.Key.Group != "rbac.authorization.k8s.io" || !strings.HasSuffix(o.Key.Kind, "RoleBinding") {
			continue
		}
		ref, _ := o.Fields["roleRef"].(map[string]any)
		role, _ := ref["name"].(string)
		if ref["kind"] == "Role" {
			role += " of " + o.Key.Namespace
		}
		subjects, _ := o.Fields["subjects"].([]any)
		for _, s := range subjects {
			m, _ := s.(map[string]any)
			kind, _ := m["kind"].(string)
			name, _ := m["name"].(string)
			if namespace, _ := m["namespace"].(string); namespace != "" {
				name = namespace + "/" + name
			}
			all[hold{kind + " " + name, role, o.Key.Namespace, o.Tenant}] = true
		}
	}
	return all
}
