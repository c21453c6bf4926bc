// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fieldManager of what is applied, always by dry run.
const fieldManager = "tenantry-audit"

// Resource is how a kind is served.
type Resource struct {
	Name       string
	Version    string
	Namespaced bool
}

// Kinds are those that an API server serves.
type Kinds map[schema.GroupKind][]Resource

// find is the version asked for, or else one that is served.
func (k Kinds) find(gvk schema.GroupVersionKind) (Resource, error) {
	all := k[gvk.GroupKind()]
	if len(all) == 0 {
		return Resource{}, missing{"the cluster does not serve " + gvk.Kind + " of " + gvk.Group}
	}
	for _, r := range all {
		if r.Version == gvk.Version {
			return r, nil
		}
	}
	return all[0], nil
}

// Request is one request to the API server. Sent as it is, it changes nothing.
type Request struct {
	// Path it takes: one of the constants, with a subresource.
	Path   string
	Method string
	URL    string
	Type   string
	Body   []byte
	// wants is what has to be in the answer for the request to have had its way.
	wants map[string]any
	// accept is what the answer may be, by default the whole of it in JSON.
	accept string
}

// That something may be read is enough: what is in it is not fetched.
const (
	onlyMetadata     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	onlyMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// String is the request in a line, without its content.
func (r Request) String() string { return r.Method + " " + strings.SplitN(r.URL, "?", 2)[0] }

// draft is a try on one path, of which some need the object as it is.
type draft struct {
	path     string
	gvk      schema.GroupVersionKind
	resource Resource
	// base is the harmless object, changed the one with the change in it.
	base, changed, change map[string]any
	namespace, name       string
	// staged says that a harmless object has to be made first.
	staged bool
}

// needsLive tells whether the request is made from the object that is there.
func (d draft) needsLive() bool {
	verb, _, _ := strings.Cut(d.path, "/")
	return verb == PathPut || verb == PathJSON
}

// drafts are a try's requests, one for each path. With stage, objects may be made first
// to be changed.
func (s *Suite) drafts(sc Scene, kinds Kinds, t Try, stage bool) ([]draft, error) {
	o, change, err := s.object(sc, t)
	if err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(fmt.Sprint(o["apiVersion"]), fmt.Sprint(o["kind"]))
	resource, err := kinds.find(gvk)
	if err != nil {
		return nil, err
	}
	o["apiVersion"] = schema.GroupVersion{Group: gvk.Group, Version: resource.Version}.String()
	u := unstructured.Unstructured{Object: o}
	named := u.GetName() != ""
	if !named {
		u.SetName(fmt.Sprint(sc.Values["NEW"]))
	}
	namespace := ""
	if resource.Namespaced {
		in := t.In
		if in == "" {
			in = "$WEB"
		}
		if namespace, err = sc.text(in); err != nil {
			return nil, err
		}
		u.SetNamespace(namespace)
	}
	do := t.Do
	if len(do) == 0 {
		do = []string{PathWrite}
	}
	var all []draft
	paths := expandPaths(do, gvk.Group, named, stage)
	if len(paths) == 0 {
		return nil, missing{"it changes an object that would have to be made for it, and nothing is made here"}
	}
	for _, path := range paths {
		d := draft{path: path.name, gvk: gvk, resource: resource, namespace: namespace, name: u.GetName(), change: change, staged: path.staged}
		d.base = u.DeepCopy().Object
		if path.staged {
			d.name = u.GetName() + "-" + strings.ToLower(t.Of)
			unstructured.SetNestedField(d.base, d.name, "metadata", "name") //nolint:errcheck // metadata is a map: it has a name
		}
		d.changed = (&unstructured.Unstructured{Object: d.base}).DeepCopy().Object
		merge(d.changed, (&unstructured.Unstructured{Object: change}).DeepCopy().Object)
		if !path.staged {
			d.name = (&unstructured.Unstructured{Object: d.changed}).GetName() // a change may name it
		}
		all = append(all, d)
	}
	return all, nil
}

// object is a try's object and its change, filled for a scene.
func (s *Suite) object(sc Scene, t Try) (object, change map[string]any, err error) {
	filled, err := sc.fill(s.objects[t.Of])
	if err != nil {
		return nil, nil, err
	}
	with := map[string]any{}
	if t.With != nil {
		with = t.With
	}
	if t.Pod != nil {
		with = wrap(t.Pod, carriers[t.Of].spec)
	}
	filledWith, err := sc.fill(with)
	if err != nil {
		return nil, nil, err
	}
	return filled.(map[string]any), filledWith.(map[string]any), nil
}

// wrap puts a value at a path.
func wrap(value map[string]any, path []string) map[string]any {
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	return value
}

type way struct {
	name   string
	staged bool
}

func expandPaths(do []string, group string, named, stage bool) []way {
	var all []way
	add := func(staged bool, names ...string) {
		for _, n := range names {
			all = append(all, way{n, staged})
		}
	}
	for _, d := range do {
		switch d {
		case PathWrite, PathMake:
			add(false, PathCreate, PathApply)
			// Where names matter, an attack asks for a generated one itself.
			if stage && !named {
				add(false, PathGenerate)
			}
			if stage && d == PathWrite && !named {
				add(true, PathMerge, PathJSON, PathPut, PathApply)
			}
		case PathChange:
			add(false, PathMerge, PathJSON, PathApply)
			if builtIn(group) {
				add(false, PathStrategic)
			}
		default:
			if name, staged := strings.CutPrefix(d, onStaged); !staged || stage {
				add(staged, name)
			}
		}
	}
	return all
}

// builtIn groups know strategic merge patches.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// request makes the request of a draft. live is the object that is there, for those
// that need it.
func (d draft) request(live map[string]any) (Request, error) {
	verb, sub, _ := strings.Cut(d.path, "/")
	r := Request{Path: d.path, URL: d.url(verb, sub), wants: d.change}
	if d.staged && verb == PathApply {
		r.Path = "apply to what is there"
	}
	query := url.Values{}
	var body any
	switch verb {
	case PathCreate:
		r.Method, r.Type, body = http.MethodPost, "application/json", d.changed
		if sub != "" {
			body = d.change
		}
	case PathGenerate:
		o := unstructured.Unstructured{Object: maps.Clone(d.changed)}
		meta := maps.Clone(o.Object["metadata"].(map[string]any))
		delete(meta, "name")
		meta["generateName"] = d.name + "-"
		o.Object["metadata"] = meta
		r.Method, r.Type, body = http.MethodPost, "application/json", o.Object
	case PathApply:
		query.Set("force", "true")
		r.Method, r.Type, body = http.MethodPatch, "application/apply-patch+yaml", d.changed
	case PathMerge:
		r.Method, r.Type, body = http.MethodPatch, "application/merge-patch+json", d.change
	case PathStrategic:
		r.Method, r.Type, body = http.MethodPatch, "application/strategic-merge-patch+json", d.change
	case PathJSON:
		ops := []map[string]any{}
		patch(&ops, "", live, d.change)
		r.Method, r.Type, body = http.MethodPatch, "application/json-patch+json", ops
	case PathPut:
		o := (&unstructured.Unstructured{Object: live}).DeepCopy().Object
		merge(o, d.change)
		r.Method, r.Type, body = http.MethodPut, "application/json", o
	case PathDelete, PathSweep:
		r.Method = http.MethodDelete
	case PathGet:
		r.Method, r.accept = http.MethodGet, onlyMetadata
	case PathList:
		query.Set("limit", "1")
		r.Method, r.accept = http.MethodGet, onlyMetadataList
	default:
		return r, fmt.Errorf("there is no path %s", d.path)
	}
	if r.Method != http.MethodGet {
		query.Set("dryRun", "All")
	}
	if body != nil {
		query.Set("fieldManager", fieldManager)
		query.Set("fieldValidation", "Strict")
		content, err := json.Marshal(body)
		if err != nil {
			return r, err
		}
		r.Body = content
	}
	r.URL += "?" + query.Encode()
	return r, nil
}

// url of the object, of its collection, or of a subresource.
func (d draft) url(verb, sub string) string {
	parts := []string{"", "api", d.resource.Version}
	if d.gvk.Group != "" {
		parts = []string{"", "apis", d.gvk.Group, d.resource.Version}
	}
	if d.resource.Namespaced {
		parts = append(parts, "namespaces", d.namespace)
	}
	parts = append(parts, d.resource.Name)
	collection := verb == PathGenerate || verb == PathSweep || verb == PathList || verb == PathCreate && sub == ""
	if !collection {
		parts = append(parts, d.name)
	}
	if sub != "" {
		parts = append(parts, sub)
	}
	return strings.Join(parts, "/")
}

// patch turns a change into operations on what is there.
func patch(ops *[]map[string]any, at string, live, change map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(change)) {
		to := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		into, isMap := live[k].(map[string]any)
		from, fromMap := change[k].(map[string]any)
		switch {
		case change[k] == nil:
			if _, there := live[k]; there {
				*ops = append(*ops, map[string]any{"op": "remove", "path": to})
			}
		case isMap && fromMap:
			patch(ops, to, into, from)
		default:
			*ops = append(*ops, map[string]any{"op": "add", "path": to, "value": change[k]})
		}
	}
}

// ask makes the question of a May.
func ask(sc Scene, t Try) (Request, error) {
	in := t.In
	if in == "" {
		in = "$WEB"
	}
	m := *t.May
	var err error
	for _, f := range []*string{&in, &m.Name, &m.Resource, &m.Verb, &m.Path} {
		if *f, err = sc.text(*f); err != nil {
			return Request{}, err
		}
	}
	if m.Path != "" {
		return Request{Path: PathGet, Method: http.MethodGet, URL: m.Path, accept: "*/*"}, nil
	}
	resource, sub, _ := strings.Cut(m.Resource, "/")
	if in == clusterWide {
		in = ""
	}
	return question(map[string]any{
		"verb": m.Verb, "group": m.Group, "resource": resource, "subresource": sub, "name": m.Name, "namespace": in,
	})
}

// question asks the authorizer.
func question(attributes map[string]any) (Request, error) {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	})
	return Request{
		Path: "ask", Method: http.MethodPost, Type: "application/json", Body: body,
		URL: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
	}, err
}

// clusterWide is the namespace of a question about all of them.
const clusterWide = "*"
