// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

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
		t := tree.New(root)
		files := []string{name}
		if name == "." {
			files = t.Files(".")
		}
		for _, file := range files {
			if name == "." && (!tree.IsYAML(file) || strings.HasPrefix(file, ".") || strings.Contains(file, "/.") || inChart(t, file)) {
				continue
			}
			found, err := objects(t, file)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// inChart tells whether a file is a template of a chart, and so no YAML yet.
func inChart(t *tree.Tree, file string) bool {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && t.IsFile(path.Join(path.Dir(dir), "Chart.yaml")) {
			return true
		}
	}
	return false
}

func objects(t *tree.Tree, file string) ([]Object, error) {
	documents, err := t.Documents(file)
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, d := range documents {
		o := Object{File: t.Full(file), Line: d.Line, Fields: map[string]any{}}
		if err := d.Decode(&o.Fields); err != nil {
			return nil, tree.YAMLError(t.Full(file), err)
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
	t := tree.New(dir)
	below := "."
	if t.IsDir(tenantsDir) {
		below = tenantsDir
	}
	var all []Object
	for _, n := range t.List(below) {
		name, isDir := strings.CutSuffix(n, "/")
		overlay := path.Join(below, name)
		if !isDir || name == "base" || t.KustomizationIn(overlay) == "" {
			continue
		}
		found, err := render(t, overlay, written)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if all != nil {
		return all, nil
	}
	if t.KustomizationIn(".") != "" {
		return render(t, ".", written)
	}
	return written, nil
}

func render(t *tree.Tree, overlay string, written []Object) ([]Object, error) {
	if err := refuseRemote(t, overlay); err != nil {
		return nil, err
	}
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(filesys.MakeFsOnDisk(), t.Full(overlay))
	if err != nil {
		return nil, &tree.Error{File: t.Full(overlay), What: "kustomize: " + strings.ReplaceAll(err.Error(), "\n", " ")}
	}
	var all []Object
	for _, r := range resources.Resources() {
		fields, err := r.Map()
		if err != nil {
			return nil, err
		}
		o := Object{File: t.Full(overlay), Environment: path.Base(overlay), Fields: fields}
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
func refuseRemote(t *tree.Tree, dir string, above ...string) error {
	file := t.KustomizationIn(dir)
	if file == "" || slices.Contains(above, dir) {
		return nil
	}
	documents, err := t.Documents(file)
	if err != nil || len(documents) == 0 {
		return err
	}
	for _, list := range []string{"resources", "bases", "components"} {
		for _, r := range tree.Items(documents[0], list) {
			if tree.IsRemote(r.Value) {
				return &tree.Error{File: t.Full(file), Line: r.Line, What: r.Value + " is elsewhere, and nothing is fetched: bring it into the repository first"}
			}
			if err := refuseRemote(t, path.Join(dir, r.Value), append(above, dir)...); err != nil {
				return err
			}
		}
	}
	return nil
}
