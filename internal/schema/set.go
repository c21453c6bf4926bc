// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/config"
)

// data is what hack/schemas wrote.
//
//go:embed data/*.json
var data embed.FS

// Newest is the minor of Kubernetes that is taken when none is named.
const Newest = "1.36"

// Minors are those of Kubernetes whose kinds are known, the newest first.
func Minors() []string {
	var all []string
	entries, _ := data.ReadDir("data") // it is in the program
	for _, e := range entries {
		if minor, ok := strings.CutPrefix(e.Name(), "kubernetes-"); ok {
			all = append(all, strings.TrimSuffix(minor, ".json"))
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// Kind is how an API server serves one.
type Kind struct {
	schema.GroupVersionKind
	// Resource is its plural, as rules of RBAC and policies name it.
	Resource   string
	Namespaced bool
	// Custom says that a CRD defines it.
	Custom bool
}

// Set is the kinds that a cluster serves.
type Set struct {
	// Minor of Kubernetes.
	Minor string

	builtin *builtin

	mu      sync.Mutex
	kinds   map[schema.GroupVersionKind]*known
	checked map[schema.GroupVersionKind]*checker
}

// known is a kind of a CRD.
type known struct {
	Kind
	served  bool
	bundled bool
	version apiextensionsv1.CustomResourceDefinitionVersion
}

// builtin is one of the files in data.
type builtin struct {
	Kinds map[string]struct {
		Type, Resource string
		Namespaced     bool
	}
	Types map[string]json.RawMessage
}

// bundled are the CRDs that every cluster with Tenantry has.
var bundled = sync.OnceValues(func() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	content, err := data.ReadFile("data/flux.json")
	if err != nil {
		return nil, err
	}
	var flux struct {
		CRDs []*apiextensionsv1.CustomResourceDefinition
	}
	if err := json.Unmarshal(content, &flux); err != nil {
		return nil, err
	}
	if content, err = config.Files.ReadFile("crd/tenantry.dev_tenants.yaml"); err != nil {
		return nil, err
	}
	tenants := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, tenants); err != nil {
		return nil, err
	}
	return append(flux.CRDs, tenants), nil
})

// For is what a cluster of a minor serves that has Flux and Tenantry.
func For(minor string) (*Set, error) {
	minor = strings.TrimPrefix(minor, "v")
	b, err := builtinOf(minor)
	if err != nil {
		return nil, err
	}
	s := &Set{Minor: minor, builtin: b, kinds: map[schema.GroupVersionKind]*known{}, checked: map[schema.GroupVersionKind]*checker{}}
	crds, err := bundled()
	if err != nil {
		return nil, fmt.Errorf("bundled CRDs: %w", err)
	}
	for _, crd := range crds {
		s.define(crd, true)
	}
	return s, nil
}

var builtins sync.Map // of minor to *builtin

// builtinOf reads the kinds of a minor, once.
func builtinOf(minor string) (*builtin, error) {
	if b, ok := builtins.Load(minor); ok {
		return b.(*builtin), nil
	}
	content, err := data.ReadFile("data/kubernetes-" + minor + ".json")
	if err != nil {
		return nil, fmt.Errorf("the kinds of Kubernetes %s are not known; known are those of %s", minor, strings.Join(Minors(), ", "))
	}
	b := &builtin{}
	if err := json.Unmarshal(content, b); err != nil {
		return nil, fmt.Errorf("the kinds of Kubernetes %s: %w", minor, err)
	}
	builtins.Store(minor, b)
	return b, nil
}

// Define adds the kinds of a CRD, or replaces what was known of them. Kubernetes' own and
// bundled ones stay as they are: who could change them could have anything pass.
func (s *Set) Define(crd *apiextensionsv1.CustomResourceDefinition) {
	s.mu.Lock()
	for gvk, k := range s.kinds {
		if k.bundled && gvk.Group == crd.Spec.Group {
			s.mu.Unlock()
			return
		}
	}
	s.mu.Unlock()
	for name := range s.builtin.Kinds {
		if group, _, _ := strings.Cut(name, "/"); group == crd.Spec.Group {
			return
		}
	}
	s.define(crd, false)
}

func (s *Set) define(crd *apiextensionsv1.CustomResourceDefinition, bundled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kinds, func(gvk schema.GroupVersionKind, _ *known) bool {
		return gvk.Group == crd.Spec.Group && gvk.Kind == crd.Spec.Names.Kind
	})
	for _, v := range crd.Spec.Versions {
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
		s.kinds[gvk] = &known{
			Kind:   Kind{GroupVersionKind: gvk, Resource: crd.Spec.Names.Plural, Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, Custom: true},
			served: v.Served, bundled: bundled, version: v,
		}
		delete(s.checked, gvk)
	}
}

// Kind is how a kind is served; false when it is not.
func (s *Set) Kind(gvk schema.GroupVersionKind) (Kind, bool) {
	s.mu.Lock()
	k := s.kinds[gvk]
	s.mu.Unlock()
	if k != nil {
		return k.Kind, k.served
	}
	b, ok := s.builtin.Kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind]
	return Kind{GroupVersionKind: gvk, Resource: b.Resource, Namespaced: b.Namespaced}, ok
}

// Versions are those in which a kind of a group is served, sorted.
func (s *Set) Versions(gk schema.GroupKind) []string {
	var all []string
	s.mu.Lock()
	for gvk, k := range s.kinds {
		if gvk.GroupKind() == gk && k.served {
			all = append(all, gvk.Version)
		}
	}
	s.mu.Unlock()
	for name := range s.builtin.Kinds {
		part := strings.Split(name, "/")
		if part[0] == gk.Group && part[2] == gk.Kind {
			all = append(all, part[1])
		}
	}
	slices.Sort(all)
	return all
}

// Groups are the API groups that any kind is known of.
func (s *Set) Groups() map[string]bool {
	all := map[string]bool{}
	s.mu.Lock()
	for gvk := range s.kinds {
		all[gvk.Group] = true
	}
	s.mu.Unlock()
	for name := range s.builtin.Kinds {
		group, _, _ := strings.Cut(name, "/")
		all[group] = true
	}
	return all
}

// Kinds are all that are served, in no order.
func (s *Set) Kinds() []Kind {
	var all []Kind
	s.mu.Lock()
	for _, k := range s.kinds {
		if k.served {
			all = append(all, k.Kind)
		}
	}
	s.mu.Unlock()
	for name, b := range s.builtin.Kinds {
		part := strings.Split(name, "/")
		all = append(all, Kind{GroupVersionKind: schema.GroupVersionKind{Group: part[0], Version: part[1], Kind: part[2]}, Resource: b.Resource, Namespaced: b.Namespaced})
	}
	return all
}

// Since is the first of the known minors of Kubernetes that serves a kind; "" when none
// does.
func Since(gvk schema.GroupVersionKind) string {
	since := ""
	for _, minor := range Minors() {
		b, err := builtinOf(minor)
		if err != nil {
			continue // it is in the program
		}
		if _, ok := b.Kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind]; ok {
			since = minor
		}
	}
	return since
}
