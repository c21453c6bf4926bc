// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Edit changes one document of a file and leaves every line as it is that the change
// doesn't touch: comments, blank lines, quotes and indentation.
func (t *Tree) Edit(name string, document int, change func(*yaml.Node) error) error {
	before, err := t.Read(name)
	if err != nil {
		return err
	}
	after, err := Edited(t.Full(name), before, document, change)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		t.Put(name, after)
	}
	return nil
}

// Edited prints the file twice, as it was and as changed, and brings the difference of
// the two into the text as it stands: the printer alone would lose blank lines.
func Edited(file string, before []byte, document int, change func(*yaml.Node) error) ([]byte, error) {
	if windows, unix := []byte("\r\n"), []byte("\n"); bytes.Count(before, windows) == bytes.Count(before, unix) && bytes.Contains(before, windows) {
		after, err := Edited(file, bytes.ReplaceAll(before, windows, unix), document, change)
		return bytes.ReplaceAll(after, unix, windows), err
	}
	documents, err := allDocuments(file, before)
	if err != nil {
		return nil, err
	}
	if document >= len(documents) {
		return nil, &Error{File: file, What: "there is nothing in it to change: write what it is to hold first"}
	}
	was, err := printed(documents, before)
	if err != nil {
		return nil, err
	}
	if err := change(documents[document].Content[0]); err != nil {
		var mistake *Error
		if errors.As(err, &mistake) && mistake.File == "" {
			mistake.File = file
		}
		return nil, err
	}
	is, err := printed(documents, before)
	if err != nil || is == was {
		return before, err
	}
	restore := restoring(was, strings.TrimSuffix(string(before), "\n")+"\n")
	after, err := udiff.Apply(was, merged(restore.fitted(udiff.Lines(was, is)), restore.edits))
	if err == nil && means(after, documents) {
		return []byte(after), nil
	}
	return []byte(is), nil
}

// merged is two lists of edits as one. Where they meet, the first wins; where they only
// touch, the first comes first: what it adds to a list stands before the blank line
// that ends the list.
func merged(first, second []udiff.Edit) []udiff.Edit {
	apart := slices.DeleteFunc(slices.Clone(second), func(e udiff.Edit) bool {
		return slices.ContainsFunc(first, func(f udiff.Edit) bool { return e.Start < f.End && f.Start < e.End })
	})
	if both, ok := udiff.Merge(first, apart); ok {
		return both
	}
	return first
}

// printed is the text of documents, set in as content is.
func printed(documents []*yaml.Node, content []byte) (string, error) {
	out := &strings.Builder{}
	for i, d := range documents {
		if i > 0 || bytes.HasPrefix(content, []byte("---")) {
			out.WriteString("---\n")
		}
		if err := printTo(out, d, indentOf(content), widthOf(content)); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

var listItem = regexp.MustCompile(`(?m)^ *- `)

// indentOf is how a file sets its lists in; one without any is free to look like the rest.
func indentOf(content []byte) yaml.SequenceIndentStyle {
	if !listItem.Match(content) {
		return yaml.WideSequenceStyle
	}
	return yaml.SequenceIndentStyle(yaml.DeriveSeqIndentStyle(string(content)))
}

var indented = regexp.MustCompile(`(?m)^( +)[^ #\n-]`)

// widthOf is by how much a file sets mappings in.
func widthOf(content []byte) int {
	width := 0
	for _, m := range indented.FindAllSubmatch(content, -1) {
		if n := len(m[1]); width == 0 || n < width {
			width = n
		}
	}
	if width < 2 || width > 8 {
		return 2
	}
	return width
}

func printTo(w io.Writer, n *yaml.Node, indent yaml.SequenceIndentStyle, width int) error {
	e := yaml.NewEncoderWithOptions(w, &yaml.EncoderOptions{SeqIndent: indent})
	e.SetIndent(width)
	if err := e.Encode(n); err != nil {
		return err
	}
	return e.Close()
}

// allDocuments are a file's documents with their comments, counted as the documents of
// a tree are.
func allDocuments(file string, content []byte) ([]*yaml.Node, error) {
	var all []*yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(content))
	for {
		n := &yaml.Node{}
		err := d.Decode(n)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, syntaxError(file, content, err)
		}
		if rootOf(n) != nil {
			all = append(all, n)
		}
	}
}

// means tells whether a text says what documents do.
func means(text string, documents []*yaml.Node) bool {
	read, err := allDocuments("", []byte(text))
	if err != nil || len(read) != len(documents) {
		return false
	}
	for i := range read {
		var x, y any
		if read[i].Decode(&x) != nil || documents[i].Decode(&y) != nil || !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

// Reindented is a new file's text, with lists set in as in the rest of a fleet.
func Reindented(content []byte) ([]byte, error) {
	n := &yaml.Node{}
	if err := yaml.Unmarshal(content, n); err != nil {
		return nil, err
	}
	out := &bytes.Buffer{}
	err := printTo(out, n, yaml.WideSequenceStyle, 2)
	return out.Bytes(), err
}

// Add puts a value into a list of scalars that doesn't hold it yet: in its place when
// the list is sorted, else last.
func Add(object *yaml.Node, value string, names ...string) error {
	n, err := ListIn(object, true, names...)
	if err != nil {
		return err
	}
	var values []string
	for _, item := range n.Content {
		values = append(values, item.Value)
	}
	if slices.Contains(values, value) {
		return nil
	}
	at := len(values)
	if len(values) > 1 && slices.IsSorted(values) {
		at, _ = slices.BinarySearch(values, value)
	}
	n.Content = slices.Insert(n.Content, at, yaml.NewStringRNode(value).YNode())
	Unfold(n)
	return nil
}

// Drop takes what matches out of a list, and the list out of its object when it
// becomes empty and keep is false. It tells whether anything matched.
func Drop(object *yaml.Node, keep bool, match func(*yaml.Node) bool, names ...string) (bool, error) {
	n, err := ListIn(object, false, names...)
	if err != nil || n == nil {
		return false, err
	}
	before := len(n.Content)
	n.Content = slices.DeleteFunc(n.Content, match)
	switch {
	case len(n.Content) == before:
		return false, nil
	case len(n.Content) == 0 && !keep:
		Without(object, names...)
	case len(n.Content) == 0:
		n.Style = yaml.FlowStyle
	}
	return true, nil
}

// Unfold lets a list that was empty, and so stood in one line, grow by lines.
func Unfold(n *yaml.Node) {
	if n.Style == yaml.FlowStyle && len(n.Content) == 1 {
		n.Style = 0
	}
}

// Same tells whether two texts say the same in YAML.
func Same(a, b []byte) bool {
	documents, err := allDocuments("", a)
	return err == nil && means(string(b), documents)
}
