// SPDX-License-Identifier: Apache-2.0

// Command schemas writes what the schema package knows of Kubernetes and Flux: the
// kinds of each minor of Kubernetes that the control plane is built for, and Flux's
// CRDs, both without their descriptions. It reads the modules that the control plane
// and Flux are built from, and is run from the repository's root by `make generate`.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

const dir = "internal/schema/data"

func main() {
	log.SetFlags(0)
	for minor, modfile := range map[string]string{"1.36": "go.mod", "1.35": "kubernetes-1.35.mod", "1.34": "kubernetes-1.34.mod"} {
		if err := kubernetes(minor, module("controlplane", modfile, "k8s.io/kubernetes")); err != nil {
			log.Fatalf("Kubernetes %s: %v", minor, err)
		}
	}
	var crds []string
	for _, c := range []string{"source", "kustomize", "helm", "notification"} {
		found, err := filepath.Glob(filepath.Join(module("flux", "go.mod", "github.com/fluxcd/"+c+"-controller"), "config/crd/bases/*.yaml"))
		if err != nil || len(found) == 0 {
			log.Fatalf("CRDs of %s-controller: %v, %v", c, found, err)
		}
		crds = append(crds, found...)
	}
	if err := flux(crds); err != nil {
		log.Fatalf("Flux: %v", err)
	}
}

// module is the directory of a module that one of ours is built from.
func module(in, modfile, path string) string {
	cmd := exec.Command("go", "mod", "download", "-json", "-modfile="+modfile, path)
	cmd.Dir, cmd.Stderr = in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("%s: %v", path, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		log.Fatal(err)
	}
	return m.Dir
}

// kind is how the API server serves one.
type kind struct {
	Type       string `json:"type"`
	Resource   string `json:"resource"`
	Namespaced bool   `json:"namespaced,omitempty"`
}

func kubernetes(minor, root string) error {
	enums, err := enumsIn(filepath.Join(root, "pkg/generated/openapi/zz_generated.openapi.go"))
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "api/openapi-spec/v3/*_openapi.json"))
	if err != nil {
		return err
	}
	kinds, types := map[string]kind{}, map[string]any{}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var spec struct {
			Paths      map[string]map[string]json.RawMessage
			Components struct{ Schemas map[string]map[string]any }
		}
		if err := json.Unmarshal(content, &spec); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		resources, err := resourcesIn(spec.Paths)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		for name, s := range spec.Components.Schemas {
			if gvk := gvkOf(s); gvk != "" {
				if k, ok := resources[gvk]; ok {
					k.Type = name
					kinds[gvk] = k
				}
			}
			types[name] = stripped(name, s, enums)
		}
	}
	return write("kubernetes-"+minor+".json", map[string]any{"kinds": kinds, "types": reachable(kinds, types)})
}

// resourcesIn are the kinds that can be created, by "group/version/kind".
func resourcesIn(paths map[string]map[string]json.RawMessage) (map[string]kind, error) {
	all := map[string]kind{}
	for path, verbs := range paths {
		raw, ok := verbs["post"]
		if !ok || strings.Contains(path, "{name}") {
			continue
		}
		var post struct {
			GVK struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(raw, &post); err != nil {
			return nil, err
		}
		if post.GVK.Kind == "" {
			continue
		}
		all[post.GVK.Group+"/"+post.GVK.Version+"/"+post.GVK.Kind] = kind{Resource: filepath.Base(path), Namespaced: strings.Contains(path, "/namespaces/{namespace}/")}
	}
	return all, nil
}

func gvkOf(s map[string]any) string {
	list, _ := s["x-kubernetes-group-version-kind"].([]any)
	if len(list) != 1 {
		return "" // those of many groups are options, not objects
	}
	g, _ := list[0].(map[string]any)
	return fmt.Sprintf("%s/%s/%s", g["group"], g["version"], g["kind"])
}

// stripped keeps of a schema what a check reads, in the words of a structural schema.
// Defaults go: the API server fills in what is missing before it validates, and a
// default of an empty value would hide that a required one is missing.
func stripped(name string, s map[string]any, enums map[string][]any) map[string]any {
	switch name {
	case "io.k8s.apimachinery.pkg.api.resource.Quantity":
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true, "pattern": `^[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`}
	case "io.k8s.apimachinery.pkg.util.intstr.IntOrString":
		return map[string]any{"x-kubernetes-int-or-string": true}
	}
	out := map[string]any{}
	for key, v := range s {
		switch key {
		case "type", "format", "required", "enum", "pattern", "minimum", "maximum":
			out[key] = v
		case "allOf": // this is how a reference has a description or a default beside it
			if list, ok := v.([]any); ok && len(list) == 1 {
				out["$ref"] = ref(list[0].(map[string]any))
			}
		case "$ref":
			out["$ref"] = ref(s)
		case "items", "additionalProperties":
			if sub, ok := v.(map[string]any); ok {
				out[key] = stripped("", sub, nil)
			}
		case "properties":
			properties := map[string]any{}
			for field, sub := range v.(map[string]any) {
				p := stripped("", sub.(map[string]any), nil)
				if list := enums[goName(name)+"."+field]; list != nil {
					if items, ok := p["items"].(map[string]any); ok {
						items["enum"] = list
					} else {
						p["enum"] = list
					}
				}
				properties[field] = p
			}
			out[key] = properties
		}
	}
	if len(out) == 0 || out["type"] == "object" && out["properties"] == nil && out["additionalProperties"] == nil {
		out["x-kubernetes-preserve-unknown-fields"] = true // anything goes, as in an embedded object
	}
	return out
}

func ref(s map[string]any) string {
	name, _ := s["$ref"].(string)
	return strings.TrimPrefix(name, "#/components/schemas/")
}

// goName is how the generated Go code names a type in its functions.
func goName(schema string) string {
	return "k8sio_" + strings.NewReplacer(".", "_", "-", "_").Replace(strings.TrimPrefix(schema, "io.k8s."))
}

// enumsIn reads which values fields may have, by "type.field": the published documents
// leave them out, and the API server refuses any other.
func enumsIn(file string) (map[string][]any, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	all := map[string][]any{}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "schema_") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			kv, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			field, ok := kv.Key.(*ast.BasicLit)
			if !ok {
				return true
			}
			if values := enumIn(kv.Value); values != nil {
				name, _ := strconv.Unquote(field.Value) // a literal of Go
				all[strings.TrimPrefix(f.Name.Name, "schema_")+"."+name] = values
			}
			return false
		})
	}
	return all, nil
}

func enumIn(n ast.Node) []any {
	var values []any
	ast.Inspect(n, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if key, ok := kv.Key.(*ast.Ident); !ok || key.Name != "Enum" {
			return true
		}
		for _, e := range kv.Value.(*ast.CompositeLit).Elts {
			if lit, ok := e.(*ast.BasicLit); ok {
				v, _ := strconv.Unquote(lit.Value)
				values = append(values, v)
			}
		}
		return false
	})
	return values
}

// reachable are the types that kinds need.
func reachable(kinds map[string]kind, types map[string]any) map[string]any {
	all := map[string]any{}
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if name, ok := v["$ref"].(string); ok && all[name] == nil {
				all[name] = types[name]
				visit(types[name])
			}
			for _, sub := range v {
				visit(sub)
			}
		case []any:
			for _, sub := range v {
				visit(sub)
			}
		}
	}
	for _, k := range kinds {
		all[k.Type] = types[k.Type]
		visit(types[k.Type])
	}
	return all
}

// flux writes the CRDs of Flux as the API server is given them.
func flux(files []string) error {
	slices.Sort(files)
	var all []any
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var crd map[string]any
		if err := yaml.Unmarshal(content, &crd); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		all = append(all, undescribed(crd))
	}
	return write("flux.json", map[string]any{"crds": all})
}

// undescribed takes descriptions out of a schema, and leaves fields of that name in.
func undescribed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, text := v["description"].(string); text {
			delete(v, "description")
		}
		for k, sub := range v {
			v[k] = undescribed(sub)
		}
	case []any:
		for i := range v {
			v[i] = undescribed(v[i])
		}
	}
	return v
}

// write writes a map of maps or lists with an entry in each line, so that what changes
// from version to version can be read.
func write(name string, content map[string]any) error {
	out := &bytes.Buffer{}
	out.WriteString("{")
	for i, section := range sortedKeys(content) {
		if i > 0 {
			out.WriteString(",")
		}
		fmt.Fprintf(out, "\n%q:", section)
		raw, err := json.Marshal(content[section])
		if err != nil {
			return err
		}
		var entries map[string]json.RawMessage
		if json.Unmarshal(raw, &entries) == nil {
			out.WriteString("{")
			for j, key := range sortedKeys(entries) {
				if j > 0 {
					out.WriteString(",")
				}
				fmt.Fprintf(out, "\n%q:%s", key, entries[key])
			}
			out.WriteString("\n}")
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		out.WriteString("[")
		for j, entry := range list {
			if j > 0 {
				out.WriteString(",")
			}
			fmt.Fprintf(out, "\n%s", entry)
		}
		out.WriteString("\n]")
	}
	out.WriteString("\n}\n")
	return os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o644)
}

func sortedKeys[T any](m map[string]T) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
