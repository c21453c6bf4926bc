// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fluxcd/pkg/sourceignore/gitignore"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Tree is a directory as it would be with changes that are not written yet. Paths
// in it are relative and use slashes. Each file is read and parsed once.
type Tree struct {
	// Dir is its root on disk.
	Dir string

	mu      sync.Mutex
	known   map[string]*file
	changed map[string]bool // files whose known content is not on disk
	// kustomizations by their text
	kustomizations map[string][]*yaml.Node
	// directories and why they are not to be read
	directories map[string]error
	// directories by the names that they have without links
	real map[string]string
	// what Flux leaves out
	ignoring sync.Once
	ignores  gitignore.Matcher
	// lists of directories, as long as nothing changes
	lists map[string][]string
}

// file is what is known of one, or why nothing is.
type file struct {
	reading, parsing sync.Once
	content          []byte
	documents        []*yaml.Node
	readErr, err     error
}

// New is the tree of a directory.
func New(dir string) *Tree {
	return &Tree{Dir: dir, known: map[string]*file{}, changed: map[string]bool{}, kustomizations: map[string][]*yaml.Node{}, directories: map[string]error{}, lists: map[string][]string{}, real: map[string]string{}}
}

// Full is a path as the process would open it, for messages too.
func (t *Tree) Full(name string) string { return filepath.Join(t.Dir, filepath.FromSlash(name)) }

func (t *Tree) file(name string) *file {
	t.mu.Lock()
	f := t.known[name]
	if f == nil {
		f = &file{}
		t.known[name] = f
	}
	t.mu.Unlock()
	f.reading.Do(func() { f.content, f.readErr = t.Original(name) })
	return f
}

// Read is a file's content; fs.ErrNotExist when there is no such file.
func (t *Tree) Read(name string) ([]byte, error) {
	f := t.file(name)
	return f.content, f.readErr
}

// Original is a file's content on disk. Links that lead out of the fleet are not followed.
func (t *Tree) Original(name string) ([]byte, error) {
	if err := t.local(name); err != nil {
		return nil, err
	}
	if err := t.enclosed(path.Dir(name)); err != nil {
		return nil, err
	}
	full := t.Full(name)
	f, err := os.OpenFile(full, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		var target string
		if target, err = t.within(full); err != nil {
			return nil, err
		}
		f, err = os.OpenFile(target, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if errors.Is(err, syscall.ELOOP) {
		return nil, &Error{File: full, What: "it is a link that leads in a circle"}
	}
	if err != nil {
		return nil, notThere(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	return contentOf(f, full)
}

// MaxFile is the largest file that is read, in bytes: no cluster takes an object of a
// tenth of it, and nobody waits for what was put there by mistake or in malice.
const MaxFile = 8 << 20

// contentOf reads an open file, and no pipe or device, which may never end.
func contentOf(f *os.File, full string) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, &Error{File: full, What: "it is no regular file"}
	case info.Size() > MaxFile:
		return nil, &Error{File: full, What: fmt.Sprintf("it has %d MB, and no manifest has more than %d: keep it elsewhere", info.Size()>>20, MaxFile>>20)}
	}
	content := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, notThere(err)
		}
		content = slices.Grow(content, 1)
	}
}

// notThere makes a path below a file as absent as any other.
func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
		return fs.ErrNotExist
	}
	return err
}

// Put gives a file a content.
func (t *Tree) Put(name string, content []byte) { t.set(name, &file{content: content}) }

// Remove takes a file out.
func (t *Tree) Remove(name string) { t.set(name, &file{readErr: fs.ErrNotExist}) }

// Forget takes back a change.
func (t *Tree) Forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, name)
	delete(t.changed, name)
	clear(t.lists)
}

func (t *Tree) set(name string, f *file) {
	f.reading.Do(func() {}) // it is known already
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name], t.changed[name] = f, true
	clear(t.lists)
}

// IsFile tells whether there is a file; one that can't be read is there, and says why
// when it is.
func (t *Tree) IsFile(name string) bool {
	_, err := t.Read(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// IsDir tells whether a directory has any file in it, however deep.
func (t *Tree) IsDir(name string) bool {
	return slices.ContainsFunc(t.List(name), func(n string) bool {
		sub, deeper := strings.CutSuffix(n, "/")
		return !deeper || t.IsDir(path.Join(name, sub))
	})
}

// List is the sorted names in a directory; those of directories end in a slash.
func (t *Tree) List(name string) []string {
	t.mu.Lock()
	all, known := t.lists[name]
	t.mu.Unlock()
	if known {
		return all
	}
	all = t.list(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lists[name] = all
	return all
}

func (t *Tree) list(name string) []string {
	names := map[string]bool{}
	if t.local(name) != nil || t.enclosed(path.Clean(name)) != nil {
		return nil
	}
	entries, _ := os.ReadDir(t.Full(name)) // what isn't there has nothing in it
	for _, e := range entries {
		if e.Name() == gitDir {
			continue
		}
		if e.IsDir() {
			names[e.Name()+"/"] = true
		} else {
			names[e.Name()] = true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for changed := range t.changed {
		rest, ok := strings.CutPrefix(changed, strings.TrimSuffix(name, "/")+"/")
		if !ok {
			continue
		}
		there := t.known[changed].readErr == nil
		if first, _, deeper := strings.Cut(rest, "/"); deeper {
			names[first+"/"] = names[first+"/"] || there
		} else {
			names[rest] = there
		}
	}
	var all []string
	for n, there := range names {
		if there {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// Files are all files below a directory.
func (t *Tree) Files(name string) []string {
	var all []string
	for _, n := range t.List(name) {
		if dir, ok := strings.CutSuffix(n, "/"); ok {
			all = append(all, t.Files(path.Join(name, dir))...)
		} else {
			all = append(all, path.Join(name, n))
		}
	}
	return all
}

// Documents are the roots of a file's YAML documents.
func (t *Tree) Documents(name string) ([]*yaml.Node, error) {
	f := t.file(name)
	f.parsing.Do(func() {
		if f.err = f.readErr; f.err == nil {
			f.documents, f.err = t.parse(name, f.content)
		}
	})
	return f.documents, f.err
}

// parse parses kustomizations that say the same once: in base, nearly all of them do.
func (t *Tree) parse(name string, content []byte) ([]*yaml.Node, error) {
	if !strings.HasPrefix(path.Base(name), "kustomization.") {
		return Parse(t.Full(name), content)
	}
	t.mu.Lock()
	documents, ok := t.kustomizations[string(content)]
	t.mu.Unlock()
	if ok {
		return documents, nil
	}
	documents, err := Parse(t.Full(name), content)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kustomizations[string(content)] = documents
	return documents, nil
}

// Parse splits a file into its documents; empty ones are left out.
func Parse(file string, content []byte) ([]*yaml.Node, error) {
	if !bytes.Contains(content, []byte("---")) { // one document is read faster as a whole
		document := &yaml.Node{}
		if err := yaml.Unmarshal(content, document); err != nil {
			return nil, syntaxError(file, content, err)
		}
		if wide := tooWide(document); wide != nil {
			return nil, &Error{File: file, Line: wide.Line, What: fmt.Sprintf("a mapping has more than %d entries", maxEntries)}
		}
		return rootOf(document), nil
	}
	documents, err := allDocuments(file, content)
	if err != nil {
		return nil, err
	}
	var all []*yaml.Node
	for _, d := range documents {
		if wide := tooWide(d); wide != nil {
			return nil, &Error{File: file, Line: wide.Line, What: fmt.Sprintf("a mapping has more than %d entries", maxEntries)}
		}
		all = append(all, rootOf(d)...)
	}
	return all, nil
}

// maxEntries is how many a mapping may have: the time that YAML takes for one grows with
// their square, and no object has so many.
const maxEntries = 10_000

// tooWide is the first mapping of a file that has more entries, or nil.
func tooWide(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode && len(n.Content)/2 > maxEntries {
		return n
	}
	for _, sub := range n.Content {
		if wide := tooWide(sub); wide != nil {
			return wide
		}
	}
	return nil
}

// rootOf is what a document holds, if that is an object or a list.
func rootOf(document *yaml.Node) []*yaml.Node {
	if len(document.Content) == 0 || document.Content[0].Kind == yaml.ScalarNode {
		return nil
	}
	return document.Content[:1]
}

// Name is the name in the tree of a file as the process would open it; false when it is
// not in the tree.
func (t *Tree) Name(full string) (string, bool) {
	rel, err := filepath.Rel(t.Dir, full)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// Manifests are the YAML files of the tree that may be objects: nothing hidden, and no
// chart's templates, which are no YAML yet.
func (t *Tree) Manifests() []string {
	var all []string
	var walk func(dir string)
	walk = func(dir string) {
		names := t.List(dir)
		chart := slices.Contains(names, "Chart.yaml")
		for _, n := range names {
			switch sub, isDir := strings.CutSuffix(n, "/"); {
			case strings.HasPrefix(n, "."), t.Ignored(path.Join(dir, sub), isDir):
			case isDir && (chart && (sub == "templates" || sub == "charts") || sub == "node_modules"):
			case isDir:
				walk(path.Join(dir, sub))
			case IsYAML(n):
				all = append(all, path.Join(dir, n))
			}
		}
	}
	walk(".")
	return all
}
