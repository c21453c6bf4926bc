// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

//go:embed scaffold
var scaffold embed.FS

// hidden are files that are embedded under names without a leading dot, or without a
// directory that has one.
var hidden = map[string]string{
	"gitignore": ".gitignore", "sops.yaml": ".sops.yaml", "workflow.yaml": ".github/workflows/fleet.yaml",
}

// scaffolded writes a directory of templates into a directory of the fleet.
func (t *tree) scaffolded(from, to string, data any) error {
	root := path.Join("scaffold", from)
	return fs.WalkDir(scaffold, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		target := strings.TrimPrefix(name, root+"/")
		if h := hidden[target]; h != "" {
			target = h
		}
		return t.scaffoldedFile(strings.TrimPrefix(name, "scaffold/"), path.Join(to, target), data)
	})
}

// scaffoldedFile writes one template.
func (t *tree) scaffoldedFile(from, to string, data any) error {
	content, err := scaffold.ReadFile(path.Join("scaffold", from))
	if err != nil {
		return err
	}
	tmpl, err := template.New(from).Funcs(template.FuncMap{"join": strings.Join}).Parse(string(content))
	if err != nil {
		return err
	}
	out := &bytes.Buffer{}
	if err := tmpl.Execute(out, data); err != nil {
		return err
	}
	t.write(to, out.Bytes())
	return nil
}
