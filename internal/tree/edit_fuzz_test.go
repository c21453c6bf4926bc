// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// FuzzEdit adds to a list of any YAML and takes it out again: the meaning is what it was.
func FuzzEdit(f *testing.F) {
	f.Add("resources:\n- a\n\n# x\n- b\n")
	f.Add("resources: [a]\nx: &a {b: c}\ny: *a\n")
	f.Add("---\na: |\n  text\n\n---\nb: 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		documents, err := allDocuments("x", []byte(text))
		if err != nil || len(documents) == 0 || documents[0].Content[0].Kind != yaml.MappingNode {
			return
		}
		if n := Field(documents[0].Content[0], "resources"); n != nil && n.Kind != yaml.SequenceNode {
			return
		}
		for _, n := range Items(documents[0].Content[0], "resources") {
			if n.Value == "new" {
				return
			}
		}
		with, err := Edited("x", []byte(text), 0, func(k *yaml.Node) error { return Add(k, "new", "resources") })
		if err != nil {
			return // the printer refuses what it can't print
		}
		again, err := allDocuments("x", with)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, with, err)
		}
		found := 0
		for _, n := range Items(again[0].Content[0], "resources") {
			if n.Value == "new" {
				found++
			}
		}
		if found != 1 || len(again) != len(documents) {
			t.Errorf("%q became %q", text, with)
		}
	})
}
