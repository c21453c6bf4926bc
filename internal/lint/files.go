// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/tree"
)

// files checks what is written, whether anything applies it or not.
func (l *linter) files() {
	for _, b := range l.fleet.Repositories() {
		l.filesOf(b)
	}
}

func (l *linter) filesOf(b *build.Builder) {
	t := b.Tree()
	all := t.Manifests()
	l.report.Files += len(all)
	for _, name := range all {
		documents, err := t.Documents(name)
		if err != nil {
			if !b.Used(name) { // else it was told when it was built
				l.syntax(err)
			}
			continue
		}
		if strings.HasPrefix(path.Base(name), "kustomization.") || path.Base(name) == "Kustomization" {
			l.oldFields(t, name, documents)
			continue
		}
		if !b.Used(name) {
			l.unused(b, name, documents)
		}
	}
}

func (l *linter) syntax(err error) {
	p := build.Problem{Rule: "yaml-syntax", What: err.Error()}
	var e *tree.Error
	if errors.As(err, &e) {
		p = *build.SyntaxProblem(e)
	}
	l.problem(p, "")
}

// unused notes a manifest that stands beside a kustomization which doesn't name it.
// Its objects are checked all the same: it may be used tomorrow.
func (l *linter) unused(b *build.Builder, name string, documents []*yaml.Node) {
	var objects []*build.Object
	for _, d := range tree.Flattened(documents) {
		if o := build.Written(b.Tree().Full(name), d); o.Kind != "" && o.Version != "" && o.Name != "" {
			objects = append(objects, o)
		}
	}
	if len(objects) == 0 {
		return // it is something else than a manifest
	}
	file := b.Tree().KustomizationIn(path.Dir(name))
	switch {
	case file == "" && len(l.clusters) > 0, objects[0].Kind == "Fleet":
		return // an example, or notes: no cluster gets it
	case l.told[b.Tree().Full(file)]: // it may be the one that is missing there
		return
	case file != "":
		l.find("not-listed", objects[0].At(), objects[0].String(), "", path.Base(name)+" is not in "+b.Tree().Full(file)+", so nothing applies it", "")
	}
	l.loose = append(l.loose, objects...)
}

// oldFields notes fields that kustomize gives up.
func (l *linter) oldFields(t *tree.Tree, name string, documents []*yaml.Node) {
	if len(documents) == 0 {
		return
	}
	for _, old := range []struct{ field, instead string }{{"bases", "resources"}, {"patchesStrategicMerge", "patches"}, {"patchesJson6902", "patches"}, {"commonLabels", "labels"}, {"vars", "replacements"}} {
		n := tree.Field(documents[0], old.field)
		if n == nil || tree.Empty(n) {
			continue
		}
		at := build.Place{File: t.Full(name), Line: n.Line, Column: n.Column}
		if i := slices.Index(documents[0].Content, n); i > 0 {
			at.Line, at.Column = documents[0].Content[i-1].Line, documents[0].Content[i-1].Column
		}
		f := Finding{Rule: "kustomize-old", File: at.File, Line: at.Line, Column: at.Column, What: old.field + " is deprecated", Mend: "use " + old.instead}
		if old.instead == "resources" || old.instead == "patches" {
			f.Mend += "; --fix does it"
			f.Fixable, f.fix = true, renewed(t, name, old.field, old.instead)
		}
		l.lint.add(f)
	}
}
