// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"github.com/tenantry/tenantry/internal/tree"

	"sigs.k8s.io/yaml"
)

//go:embed scaffold
var scaffold embed.FS

// hidden are files that are embedded under names without a leading dot, or without a
// directory that has one.
var hidden = map[string]string{
	"gitignore": ".gitignore", "sops.yaml": ".sops.yaml", "workflow.yaml": ".github/workflows/fleet.yaml",
}

// scaffolded writes a directory of templates into a directory of the fleet.
func scaffolded(t *tree.Tree, from, to string, data any) error {
	root := path.Join("scaffold", from)
	return fs.WalkDir(scaffold, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		target := strings.TrimPrefix(name, root+"/")
		if h := hidden[target]; h != "" {
			target = h
		}
		return scaffoldedFile(t, strings.TrimPrefix(name, "scaffold/"), path.Join(to, target), data)
	})
}

// scaffoldedFile writes one template.
func scaffoldedFile(t *tree.Tree, from, to string, data any) error {
	content, err := scaffold.ReadFile(path.Join("scaffold", from))
	if err != nil {
		return err
	}
	tmpl, err := template.New(from).Funcs(template.FuncMap{"q": quoted}).Parse(string(content))
	if err != nil {
		return err
	}
	out := &bytes.Buffer{}
	if err := tmpl.Execute(out, data); err != nil {
		return err
	}
	t.Put(to, out.Bytes())
	return nil
}

// quoted is a text as YAML reads it back, as "on" or "1.0" without quotes would not.
func quoted(text string) (string, error) {
	content, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(content), "\n"), err
}
