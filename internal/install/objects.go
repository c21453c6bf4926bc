// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/tenantry/tenantry/config"
	"github.com/tenantry/tenantry/internal/policy"
)

// Set is the constant objects, by when they may be written.
type Set struct {
	// Walls are the API, the roles and the policies: they give nobody anything.
	Walls []*unstructured.Unstructured
	// Grants are bindings and the controller's account.
	Grants []*unstructured.Unstructured
	// digest of the policies, as their canary tells it.
	digest string
}

// All are the walls, then the grants.
func (s Set) All() []*unstructured.Unstructured { return slices.Concat(s.Walls, s.Grants) }

// Options choose among the constant objects.
type Options struct {
	// Stamp includes the mutating policy, which clusters before 1.36 don't know.
	Stamp bool
	// Audit names rules that warn, on the whole cluster, instead of denying.
	Audit []string
}

// Objects are the constant objects of this version of Tenantry.
func Objects(opts Options) (Set, error) {
	var set Set
	for _, name := range opts.Audit {
		p, _, ok := policy.Find(name)
		if !ok {
			return set, fmt.Errorf("there is no rule %s; docs/reference/policies lists them", name)
		}
		if p.Firm {
			return set, fmt.Errorf("rule %s keeps tenants apart and always denies", name)
		}
	}
	paths, err := fs.Glob(config.Files, "*/*.yaml")
	if err != nil {
		return set, err
	}
	for _, path := range paths {
		objects, err := decode(path)
		if err != nil {
			return set, err
		}
		for _, o := range objects {
			switch o.GetKind() {
			case "CustomResourceDefinition", "ClusterRole":
				set.Walls = append(set.Walls, o)
			default:
				set.Grants = append(set.Grants, o)
			}
		}
	}
	policies := policy.Objects(opts.Audit...)
	set.digest = policy.Digest(policies)
	canary, binding := policy.Canary(set.digest)
	if opts.Stamp {
		policies = append(policies, policy.Stamp(), policy.StampBinding())
	}
	var walls []*unstructured.Unstructured
	for _, o := range append(policies, canary, binding) {
		walls = append(walls, object(o))
	}
	// Policies before roles: a binding that was left behind comes alive with its role.
	set.Walls = append(walls, set.Walls...)
	return set, nil
}

func decode(path string) ([]*unstructured.Unstructured, error) {
	content, err := config.Files.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := d.Decode(o)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", path, err)
		}
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// object drops what a typed object says without having been asked.
func object(typed runtime.Object) *unstructured.Unstructured {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		panic(fmt.Sprintf("install: %T does not convert: %v", typed, err))
	}
	delete(fields, "status")
	o := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	return o
}
