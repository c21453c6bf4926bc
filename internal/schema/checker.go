// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// checker is a kind's schema, ready to be asked.
type checker struct {
	kind       Kind
	structural *structuralschema.Structural
	fields     validation.SchemaValidator
	rules      *cel.Validator // nil without rules
	properties *apiextensionsv1.JSONSchemaProps
	err        error
}

// checker makes one the first time that it is asked for.
func (s *Set) checker(gvk schema.GroupVersionKind) *checker {
	s.mu.Lock()
	c, ok := s.checked[gvk]
	k := s.kinds[gvk]
	s.mu.Unlock()
	if ok {
		return c
	}
	key := shared{s.Minor, gvk}
	if k != nil {
		key.minor = "" // bundled CRDs are the same for all minors
	}
	if k == nil || k.bundled {
		if c, ok := checkers.Load(key); ok {
			return c.(*checker)
		}
	}
	c = &checker{}
	if c.kind, ok = s.Kind(gvk); ok {
		props := &apiextensionsv1.JSONSchemaProps{Type: "object"}
		switch {
		case k == nil:
			props, c.err = s.builtinSchema(gvk)
		case k.version.Schema != nil && k.version.Schema.OpenAPIV3Schema != nil:
			props = k.version.Schema.OpenAPIV3Schema
		}
		if c.err == nil {
			c.err = c.load(props)
		}
	}
	if k == nil || k.bundled {
		first, _ := checkers.LoadOrStore(key, c)
		return first.(*checker)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.checked[gvk]; first != nil {
		return first
	}
	s.checked[gvk] = c
	return c
}

// checkers are those of kinds that are the same in every set: what Kubernetes serves in a
// minor, and bundled CRDs.
var checkers sync.Map // of shared to *checker

type shared struct {
	minor string
	gvk   schema.GroupVersionKind
}

func (c *checker) load(props *apiextensionsv1.JSONSchemaProps) (err error) {
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(&apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props}, internal, nil); err != nil {
		return err
	}
	if c.structural, err = structuralschema.NewStructural(internal.OpenAPIV3Schema); err != nil {
		return err
	}
	if c.fields, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return err
	}
	c.properties = props
	if c.kind.Custom {
		c.rules = cel.NewValidator(c.structural, true, celconfig.PerCallLimit)
	}
	return nil
}

// builtinSchema is a kind of Kubernetes with the types that it refers to in their places.
func (s *Set) builtinSchema(gvk schema.GroupVersionKind) (*apiextensionsv1.JSONSchemaProps, error) {
	props, err := s.resolve(s.builtin.Kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind].Type, nil)
	if err != nil {
		return nil, err
	}
	if props.Properties == nil {
		props.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	anything := true
	for _, f := range []string{"apiVersion", "kind"} {
		props.Properties[f] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	props.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
	props.Properties["status"] = apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: &anything}
	return props, nil
}

// resolve is a type without references. Where it would hold itself, anything goes.
func (s *Set) resolve(name string, above []string) (*apiextensionsv1.JSONSchemaProps, error) {
	anything := true
	if slices.Contains(above, name) {
		return &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: &anything}, nil
	}
	raw, ok := s.builtin.Types[name]
	if !ok {
		return nil, fmt.Errorf("type %s is not known", name)
	}
	props := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(raw, props); err != nil {
		return nil, fmt.Errorf("type %s: %w", name, err)
	}
	return props, s.inline(props, append(above[:len(above):len(above)], name))
}

func (s *Set) inline(p *apiextensionsv1.JSONSchemaProps, above []string) error {
	if p.Ref != nil {
		full, err := s.resolve(*p.Ref, above)
		if err != nil {
			return err
		}
		*p = *full
		return nil
	}
	for name, sub := range p.Properties {
		if err := s.inline(&sub, above); err != nil {
			return err
		}
		p.Properties[name] = sub
	}
	if p.Items != nil && p.Items.Schema != nil {
		if err := s.inline(p.Items.Schema, above); err != nil {
			return err
		}
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		return s.inline(p.AdditionalProperties.Schema, above)
	}
	return nil
}
