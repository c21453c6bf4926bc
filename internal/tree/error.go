// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Error is a mistake in a file of the tree.
type Error struct {
	File string
	Line int // 0: the file as a whole
	What string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.What
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What)
}

var yamlLine = regexp.MustCompile(`line (\d+): ?`)

// YAMLError puts the line of a YAML error where editors look for it.
func YAMLError(path string, err error) *Error {
	what := strings.TrimPrefix(err.Error(), "yaml: ")
	what = strings.TrimSpace(strings.TrimPrefix(what, "unmarshal errors:"))
	e := &Error{File: path, What: what}
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		_, _ = fmt.Sscan(m[1], &e.Line) // digits, by the expression
		e.What = strings.Replace(what, m[0], "", 1)
	}
	return e
}

// syntaxError is a YAML error of a file's text. The parser counts lines from 0 where it
// expected something else, and its scanner from 1.
func syntaxError(path string, content []byte, err error) error {
	e := YAMLError(path, err)
	if strings.Contains(e.What, "did not find expected") {
		e.Line = min(e.Line+1, bytes.Count(content, []byte("\n")))
	}
	switch {
	case bytes.HasPrefix(content, []byte("<<<<<<< ")) || bytes.Contains(content, []byte("\n<<<<<<< ")):
		e.What = "it has the marks of a merge conflict"
		e.Line = LineOf(content, "<<<<<<< ")
	case bytes.Contains(content, []byte("{{")):
		e.What += ": it has {{ in it, as a template of a chart has, and is none"
	}
	if lines := bytes.Split(content, []byte("\n")); e.Line > 0 && e.Line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[e.Line-1], " "), []byte("\t")) {
		e.What += ": the line begins with a tab, and YAML is set in by spaces"
	}
	return e
}

// LineOf is the first line that has a word in it, or 0.
func LineOf(content []byte, word string) int {
	for i, line := range bytes.Split(content, []byte("\n")) {
		if word != "" && bytes.Contains(line, []byte(word)) {
			return i + 1
		}
	}
	return 0
}
