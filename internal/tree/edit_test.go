// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestAnEditTouchesNothingElse(t *testing.T) {
	t.Parallel()
	addCoal := func(k *yaml.Node) error { return Add(k, "../base/coal", "resources") }
	for name, tc := range map[string]struct{ before, after string }{
		"last in a list":             {"resources:\n- b\n- a # x\n\n# end\n", "resources:\n- b\n- a # x\n- ../base/coal\n\n# end\n"},
		"its place in a sorted list": {"resources:\n  - ../base/a\n\n  - ../base/z\n", "resources:\n  - ../base/a\n  - ../base/coal\n\n  - ../base/z\n"},
		"an empty list":              {"a: 1   # one\nresources: []\n", "a: 1   # one\nresources:\n  - ../base/coal\n"},
		"a list in one line":         {"resources: [ a,  b ]\n", "resources: [../base/coal, a, b]\n"},
		"no list":                    {"# head\na:   1\n", "# head\na:   1\nresources:\n  - ../base/coal\n"},
		"there already":              {"resources:   [ ../base/coal ]\n", "resources:   [ ../base/coal ]\n"},
		"windows line ends":          {"a: 1\r\nresources:\r\n- b\r\n- a\r\n", "a: 1\r\nresources:\r\n- b\r\n- a\r\n- ../base/coal\r\n"},
		"set in by four":             {"resources:\n    - b\n    - a   # x\n\n    # last\n    - z\npatches:\n    - path:   p\n", "resources:\n    - b\n    - a   # x\n\n    # last\n    - z\n    - ../base/coal\npatches:\n    - path:   p\n"},
		"wide dashes":                {"resources:\n  -   b\n  -   a\n", "resources:\n  -   b\n  -   a\n  - ../base/coal\n"},
		"lists of two styles":        {"resources:\n- b\n- a\n\npatches:\n  - path: p\n\n  - path: q\n", "resources:\n- b\n- a\n- ../base/coal\n\npatches:\n  - path: p\n\n  - path: q\n"},
		"no end of line":             {"resources:\n- b\n- a", "resources:\n- b\n- a\n- ../base/coal\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Edited("x.yaml", []byte(tc.before), 0, addCoal)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.after, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
