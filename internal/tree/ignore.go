// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"path"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// Ignored tells whether source-controller leaves a file or directory out of what it makes
// of a repository: by what it always leaves out, and by .sourceignore files.
func (t *Tree) Ignored(name string, isDir bool) bool {
	t.ignoring.Do(func() {
		var patterns []gitignore.Pattern
		t.patterns(".", &patterns)
		t.ignores = sourceignore.NewDefaultMatcher(patterns, nil)
	})
	return t.ignores.Match(strings.Split(path.Clean(name), "/"), isDir)
}

// patterns gathers those of a directory and all below it.
func (t *Tree) patterns(dir string, into *[]gitignore.Pattern) {
	for _, n := range t.List(dir) {
		switch sub, isDir := strings.CutSuffix(n, "/"); {
		case isDir && !strings.HasPrefix(n, "."):
			t.patterns(path.Join(dir, sub), into)
		case n == sourceignore.IgnoreFile:
			content, err := t.Read(path.Join(dir, n))
			if err != nil {
				continue // what can't be read ignores nothing
			}
			var domain []string
			if dir != "." {
				domain = strings.Split(dir, "/")
			}
			*into = append(*into, sourceignore.ReadPatterns(bytes.NewReader(content), domain)...)
		}
	}
}
