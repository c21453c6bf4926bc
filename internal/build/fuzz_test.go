// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/tree"
)

// FuzzBuild holds what is rendered to what kustomize renders, whatever is patched with
// whatever: where kustomize refuses, something is told, and else the objects are alike.
func FuzzBuild(f *testing.F) {
	const object = "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a, namespace: b}\nspec: {list: [1, 2], map: {a: b}, gone: x}\n"
	f.Add(object, "apiVersion: example.com/v1\nkind: A\nmetadata: {name: a, namespace: b}\nspec: {list: [3], map: {c: d}, gone: null}\n", "")
	f.Add(object, "[{op: add, path: /spec/list/-, value: 3}]", "target: {kind: A}")
	f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: null, c: d}}", "")
	f.Fuzz(func(t *testing.T, base, patch, target string) {
		if target != "" {
			target = ", " + target
		}
		dir := unpacked(t, &txtar.Archive{Files: []txtar.File{
			{Name: "base/kustomization.yaml", Data: []byte("resources: [a.yaml]\n")},
			{Name: "base/a.yaml", Data: []byte(base)},
			{Name: "over/kustomization.yaml", Data: []byte("resources: [../base]\npatches: [{path: p.yaml" + target + "}]\n")},
			{Name: "over/p.yaml", Data: []byte(patch)},
		}})
		r := build.New(tree.New(dir)).Build("over")
		if build.Broken(r.Problems) || unfit(r) {
			return // told; kustomize takes some of what Flux or an API server would not
		}
		want, err := byKustomize(t, filepath.Join(dir, "over"))
		if err != nil {
			if len(r.Objects) > 0 {
				t.Errorf("kustomize refuses it, and nothing is told: %v", err)
			}
			return
		}
		if got := rendered(t, r); !reflect.DeepEqual(got, want) {
			t.Errorf("kustomize: %v\nhere: %v", want, got)
		}
	})
}
