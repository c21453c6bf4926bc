// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Object is an object of a directory: as it is written, or as kustomize renders it.
type Object struct {
	// File and Line where it is written; for what was rendered, where an object of that
	// kind and name is, or the directory.
	File string
	Line int
	// Environment is the overlay that it was rendered for.
	Environment string
	Fields      map[string]any
}

// Place is where an object is, for people.
func (o Object) Place() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Objects are the objects of all YAML files at or below each path.
func Objects(paths ...string) ([]Object, error) {
	var all []Object
	for _, p := range paths {
		if !exists(p) {
			return nil, fmt.Errorf("%s: no such file or directory", p)
		}
		root, name := filepath.Dir(p), filepath.Base(p)
		if isDirectory(p) {
			root, name = p, "."
		}
		t := newTree(root)
		files := []string{name}
		if name == "." {
			files = t.files(".")
		}
		for _, file := range files {
			if name == "." && (!isYAML(file) || strings.HasPrefix(file, ".") || strings.Contains(file, "/.") || t.inChart(file)) {
				continue
			}
			found, err := t.objects(file)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// inChart tells whether a file is a template of a chart, and so no YAML yet.
func (t *tree) inChart(file string) bool {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && t.isFile(path.Join(path.Dir(dir), "Chart.yaml")) {
			return true
		}
	}
	return false
}

func (t *tree) objects(file string) ([]Object, error) {
	documents, err := t.documents(file)
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, d := range documents {
		o := Object{File: t.full(file), Line: d.Line, Fields: map[string]any{}}
		if err := d.Decode(&o.Fields); err != nil {
			return nil, yamlError(t.full(file), err)
		}
		all = append(all, o)
	}
	return all, nil
}

// Rendered renders each overlay of a repository of tenants: the directories in
// tenants/, or in the directory itself, that have a kustomization and build on others.
// A directory without any is read as it is.
func Rendered(dir string) ([]Object, error) {
	written, err := Objects(dir)
	if err != nil {
		return nil, err
	}
	t := newTree(dir)
	below := "."
	if t.isDir(tenantsDir) {
		below = tenantsDir
	}
	var all []Object
	for _, n := range t.list(below) {
		name, isDir := strings.CutSuffix(n, "/")
		overlay := path.Join(below, name)
		if !isDir || name == "base" || t.kustomizationIn(overlay) == "" {
			continue
		}
		found, err := t.render(overlay, written)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if all != nil {
		return all, nil
	}
	if t.kustomizationIn(".") != "" {
		return t.render(".", written)
	}
	return written, nil
}

func (t *tree) render(overlay string, written []Object) ([]Object, error) {
	if err := t.refuseRemote(overlay); err != nil {
		return nil, err
	}
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(filesys.MakeFsOnDisk(), t.full(overlay))
	if err != nil {
		return nil, &Error{File: t.full(overlay), What: "kustomize: " + strings.ReplaceAll(err.Error(), "\n", " ")}
	}
	var all []Object
	for _, r := range resources.Resources() {
		fields, err := r.Map()
		if err != nil {
			return nil, err
		}
		o := Object{File: t.full(overlay), Environment: path.Base(overlay), Fields: fields}
		if overlay == "." {
			o.Environment = ""
		}
		if i := slices.IndexFunc(written, func(w Object) bool {
			return w.Fields["kind"] == fields["kind"] && nameOf(w.Fields) == nameOf(fields)
		}); i >= 0 {
			o.File, o.Line = written[i].File, written[i].Line
		}
		all = append(all, o)
	}
	return all, nil
}

func nameOf(fields map[string]any) any {
	metadata, _ := fields["metadata"].(map[string]any)
	return metadata["name"]
}

// refuseRemote refuses to fetch what a kustomization names elsewhere.
func (t *tree) refuseRemote(dir string, above ...string) error {
	file := t.kustomizationIn(dir)
	if file == "" || slices.Contains(above, dir) {
		return nil
	}
	documents, err := t.documents(file)
	if err != nil || len(documents) == 0 {
		return err
	}
	for _, list := range []string{"resources", "bases", "components"} {
		for _, r := range items(documents[0], list) {
			if isRemote(r.Value) {
				return &Error{File: t.full(file), Line: r.Line, What: r.Value + " is elsewhere, and nothing is fetched: bring it into the repository first"}
			}
			if err := t.refuseRemote(path.Join(dir, r.Value), append(above, dir)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func isRemote(resource string) bool {
	return strings.Contains(resource, "://") || strings.Contains(resource, "?ref=") || strings.HasPrefix(resource, "git@") || strings.HasPrefix(resource, "github.com/")
}
