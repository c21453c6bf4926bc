// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/migrate"
)

// schema of a Tenant, as the API server has it.
var schema = sync.OnceValues(func() (map[string]any, error) {
	content, err := os.ReadFile("../../config/crd/tenantry.dev_tenants.yaml")
	if err != nil {
		return nil, err
	}
	crd := struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}{}
	err = yaml.Unmarshal(content, &crd)
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema, err
})

// refusals fails the test for what the API server would refuse. It goes by the schema,
// and by the rules of CEL in it written out here, and shares no code with the import.
func refusals(t testing.TB, r migrate.Result) {
	t.Helper()
	s, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, tn := range r.Tenants {
		variants := []*v1alpha1.Tenant{tn.Tenant}
		for _, syncs := range tn.Syncs {
			v := tn.Tenant.DeepCopy()
			v.Spec.Syncs = syncs
			variants = append(variants, v)
		}
		for _, v := range variants {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var object any
			if err := json.Unmarshal(text, &object); err != nil {
				t.Fatal(err)
			}
			refused := check("", s, object)
			for _, rule := range rules {
				refused = append(refused, rule(v)...)
			}
			for _, why := range refused {
				t.Errorf("Tenant %s would be refused: %s", v.Name, why)
			}
		}
	}
}

// check holds a value to a schema.
func check(path string, s map[string]any, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		return checkMap(path, s, v)
	case []any:
		return checkList(path, s, v)
	case string:
		return checkText(path, s, v)
	case float64:
		if least, ok := s["minimum"].(float64); ok && v < least {
			return []string{path + " is too small"}
		}
		if most, ok := s["maximum"].(float64); ok && v > most {
			return []string{path + " is too large"}
		}
	}
	return nil
}

func checkMap(path string, s map[string]any, v map[string]any) []string {
	var all []string
	if most, ok := s["maxProperties"].(float64); ok && len(v) > int(most) {
		all = append(all, path+" has too many entries")
	}
	required, _ := s["required"].([]any)
	for _, r := range required {
		if _, ok := v[r.(string)]; !ok {
			all = append(all, path+" lacks "+r.(string))
		}
	}
	properties, _ := s["properties"].(map[string]any)
	additional, _ := s["additionalProperties"].(map[string]any)
	for k, child := range v {
		switch known, ok := properties[k].(map[string]any); {
		case ok:
			all = append(all, check(path+"."+k, known, child)...)
		case additional != nil:
			all = append(all, check(path+"."+k, additional, child)...)
		case path != "" && path != ".metadata":
			all = append(all, path+"."+k+" is unknown")
		}
	}
	return all
}

func checkList(path string, s map[string]any, v []any) []string {
	var all []string
	if most, ok := s["maxItems"].(float64); ok && len(v) > int(most) {
		all = append(all, path+" has too many items")
	}
	items, _ := s["items"].(map[string]any)
	keys, _ := s["x-kubernetes-list-map-keys"].([]any)
	seen := map[string]bool{}
	for i, child := range v {
		all = append(all, check(fmt.Sprintf("%s[%d]", path, i), items, child)...)
		id := fmt.Sprint(child)
		if m, ok := child.(map[string]any); ok {
			id = ""
			for _, k := range keys {
				id += fmt.Sprint(m[k.(string)]) + "|"
			}
		}
		if s["x-kubernetes-list-type"] != "atomic" && seen[id] {
			all = append(all, path+" has twice "+id)
		}
		seen[id] = true
	}
	return all
}

func checkText(path string, s map[string]any, v string) []string {
	var all []string
	if least, ok := s["minLength"].(float64); ok && len(v) < int(least) {
		all = append(all, path+" is too short")
	}
	if most, ok := s["maxLength"].(float64); ok && len(v) > int(most) {
		all = append(all, path+" is too long")
	}
	if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
		all = append(all, fmt.Sprintf("%s: %q does not match %s", path, v, p))
	}
	if of, ok := s["enum"].([]any); ok && !slices.Contains(of, any(v)) {
		all = append(all, fmt.Sprintf("%s: %q is none of %v", path, v, of))
	}
	return all
}

// rules are those of CEL.
var rules = []func(*v1alpha1.Tenant) []string{
	func(t *v1alpha1.Tenant) (all []string) {
		reserved := []string{"default", "flux", "flux-system", "tenantry-system", "tenantry", "kube"}
		if !regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`).MatchString(t.Name) || slices.Contains(reserved, t.Name) || strings.HasPrefix(t.Name, "kube-") {
			all = append(all, "its name")
		}
		for _, ns := range t.Spec.Namespaces.Declared {
			if ns == t.Name || slices.Contains([]string{"default", "flux-system", "tenantry-system"}, ns) || strings.HasPrefix(ns, "kube-") {
				all = append(all, "declared "+ns)
			}
		}
		return all
	},
	func(t *v1alpha1.Tenant) (all []string) {
		for _, o := range t.Spec.Owners {
			if (o.Kind == "ServiceAccount") != (o.Namespace != "") || strings.HasPrefix(o.Name, "system:") {
				all = append(all, "owner "+o.Name)
			}
			if o.Role == "" && len(o.ClusterRoles) == 0 {
				all = append(all, "owner "+o.Name+" would be admin by default")
			}
			for _, r := range o.ClusterRoles {
				if slices.Contains([]string{"cluster-admin", "admin", "edit"}, r) || strings.HasPrefix(r, "system:") || strings.HasPrefix(r, "tenantry:") {
					all = append(all, "clusterRole "+r)
				}
			}
		}
		return all
	},
	func(t *v1alpha1.Tenant) (all []string) {
		for _, s := range t.Spec.Syncs {
			set := 0
			for _, there := range []bool{s.Source.Git != nil, s.Source.OCI != nil, s.Source.Bucket != nil} {
				if there {
					set++
				}
			}
			if set != 1 || strings.Contains(s.Path, "..") {
				all = append(all, "sync "+s.Name)
			}
			if g := s.Source.Git; g != nil && (!regexp.MustCompile(`^(https?|ssh)://\S+$`).MatchString(g.URL) || regexp.MustCompile(`^https?://[^/]*@`).MatchString(g.URL)) {
				all = append(all, "url of sync "+s.Name)
			}
			if o := s.Source.OCI; o != nil && !regexp.MustCompile(`^oci://[^@\s]+$`).MatchString(o.URL) {
				all = append(all, "url of sync "+s.Name)
			}
			if b := s.Source.Bucket; b != nil && strings.ContainsAny(b.Endpoint, "/@") {
				all = append(all, "endpoint of sync "+s.Name)
			}
			for _, d := range s.DependsOn {
				if d == s.Name || !slices.ContainsFunc(t.Spec.Syncs, func(o v1alpha1.Sync) bool { return o.Name == d }) {
					all = append(all, "dependsOn of sync "+s.Name)
				}
			}
		}
		return all
	},
	func(t *v1alpha1.Tenant) (all []string) {
		for _, d := range t.Spec.Domains {
			if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`).MatchString(d) {
				all = append(all, "domain "+d)
			}
		}
		for _, r := range t.Spec.Allow.Registries {
			if !regexp.MustCompile(`^[a-z0-9.:-]+/[a-z0-9._/-]*$`).MatchString(r) {
				all = append(all, "registry "+r)
			}
		}
		for _, p := range t.Spec.Network.Policies {
			if p.Name == "tenantry-isolate" {
				all = append(all, "policy "+p.Name)
			}
		}
		if s := t.Spec.Namespaces.SelfService; s != nil {
			for k := range s.Labels {
				for _, p := range []string{"tenantry.dev/", "pod-security.kubernetes.io/", "kubernetes.io/", "toolkit.fluxcd.io/"} {
					if strings.HasPrefix(k, p) {
						all = append(all, "label "+k)
					}
				}
			}
			for k := range s.Annotations {
				if strings.HasPrefix(k, "tenantry.dev/") {
					all = append(all, "annotation "+k)
				}
			}
		}
		return all
	},
}
