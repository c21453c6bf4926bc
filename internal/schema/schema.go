// SPDX-License-Identifier: Apache-2.0

// Package schema tells, without a cluster, what the API server would refuse about a
// Tenant: it reads the very CustomResourceDefinition that install writes.
package schema

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/config"
)

// tenants is the schema of Tenants, ready to be asked.
type tenants struct {
	structural *structuralschema.Structural
	fields     validation.SchemaValidator
	rules      *cel.Validator
}

var load = sync.OnceValues(func() (*tenants, error) {
	content, err := config.Files.ReadFile("crd/tenantry.dev_tenants.yaml")
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, crd); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == v1alpha1.GroupVersion.Version
	})
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[i].Schema, internal, nil); err != nil {
		return nil, err
	}
	t := &tenants{}
	if t.structural, err = structuralschema.NewStructural(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	if t.fields, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	t.rules = cel.NewValidator(t.structural, true, celconfig.PerCallLimit)
	return t, nil
})

// Tenant is what the API server would refuse about a Tenant that is created, in its
// words: nil when it would take it.
func Tenant(t *v1alpha1.Tenant) error {
	known, err := load()
	if err != nil {
		return fmt.Errorf("the Tenant's own schema: %w", err)
	}
	t = t.DeepCopy()
	t.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Tenant"))
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		return err
	}
	defaulting.Default(object, known.structural)
	errs := validation.ValidateCustomResource(nil, object, known.fields)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, known.structural, object)...)
	if len(errs) == 0 { // rules expect what the fields promise
		more, _ := known.rules.Validate(context.Background(), nil, known.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, more...)
	}
	return readable(errs)
}

// userinfo is what stands before the host of a URL, and may be a secret.
var userinfo = regexp.MustCompile(`://[^/@\s"]+@`)

// readable is one line for each mistake; "<nil>" is how a path to the root is written.
func readable(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	var lines []string
	for _, e := range errs {
		lines = append(lines, userinfo.ReplaceAllString(strings.TrimPrefix(e.Error(), "<nil>: "), "://***@"))
	}
	slices.Sort(lines)
	return errors.New(strings.Join(slices.Compact(lines), "; "))
}
