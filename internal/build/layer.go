// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Layer has kustomize do to objects what a kustomization of the given fields would do to
// resources. The objects keep their places.
func Layer(objects []*Object, kustomization map[string]any, place Place) ([]*Object, *Problem) {
	if len(objects) == 0 {
		return objects, nil
	}
	k := maps.Clone(kustomization)
	k["resources"] = []string{"objects.yaml"}
	head, err := yaml.Marshal(k)
	if err != nil {
		return nil, layerProblem(place, err)
	}
	body := &bytes.Buffer{}
	at := map[ID]int{}
	for i, o := range objects {
		fields, problem := o.Fields()
		if problem != nil {
			return nil, problem
		}
		at[o.ID] = i
		content, err := json.Marshal(fields)
		if err != nil {
			return nil, layerProblem(place, err)
		}
		body.WriteString("---\n")
		body.Write(content)
		body.WriteString("\n")
	}
	disk := filesys.MakeFsInMemory()
	for name, content := range map[string][]byte{"/kustomization.yaml": head, "/objects.yaml": body.Bytes()} {
		if err := disk.WriteFile(name, content); err != nil {
			return nil, layerProblem(place, err)
		}
	}
	done, err := kustomize(disk, "/")
	if err != nil {
		return nil, layerProblem(place, err)
	}
	var all []*Object
	for _, r := range done {
		content, err := r.MarshalJSON()
		if err != nil {
			return nil, layerProblem(place, err)
		}
		org := r.OrgId()
		was := ID{GroupVersionKind: schema.GroupVersionKind{Group: org.Group, Version: org.Version, Kind: org.Kind}, Namespace: org.Namespace, Name: org.Name}
		i, ok := at[was]
		if !ok {
			return nil, layerProblem(place, fmt.Errorf("%s can't be told from the others", was))
		}
		of := objects[i]
		o, problem := objectOf(content, of.File)
		if problem != nil {
			return nil, problem
		}
		o.Node, o.Stub, o.patches, o.done = of.Node, of.Stub, of.patches, len(of.patches)
		all = append(all, o)
	}
	return all, nil
}

func layerProblem(at Place, err error) *Problem {
	return &Problem{Rule: "kustomize", Place: at, What: "kustomize can't apply it: " + strings.Join(strings.Fields(err.Error()), " ")}
}

// Marked is the object with further labels and annotations.
func (o *Object) Marked(labels, annotations map[string]string) *Object {
	fields, problem := o.Fields()
	if problem != nil {
		return o
	}
	return Made(o, marked(fields, labels, annotations))
}

// In is a copy of an object's fields in a namespace.
func In(fields map[string]any, namespace string) map[string]any {
	out := marked(fields, nil, nil)
	out["metadata"].(map[string]any)["namespace"] = namespace
	return out
}

// marked is a copy of an object's fields with further labels and annotations.
func marked(fields map[string]any, labels, annotations map[string]string) map[string]any {
	out := maps.Clone(fields)
	metadata, _ := out["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	for name, more := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		if len(more) == 0 {
			continue
		}
		m, _ := metadata[name].(map[string]any)
		if m = maps.Clone(m); m == nil {
			m = map[string]any{}
		}
		for k, v := range more {
			m[k] = v
		}
		metadata[name] = m
	}
	out["metadata"] = metadata
	return out
}
