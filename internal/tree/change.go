// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// FileChange is one file that a change writes or removes.
type FileChange struct {
	// Name in the tree, with slashes.
	Name   string
	Before []byte // nil: it is new
	After  []byte // nil: it goes
}

// Changes are the files that differ from what is on disk, sorted by name.
func (t *Tree) Changes() ([]FileChange, error) {
	var all []FileChange
	for name := range t.changed {
		if info, err := os.Lstat(t.Full(name)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, &Error{File: t.Full(name), What: "it is a link: change the file that it leads to, or put that in its place"}
		}
		before, err := t.Original(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil && before == nil {
			before = []byte{}
		}
		c := FileChange{Name: name, Before: before}
		if file := t.known[name]; file.readErr == nil {
			c.After = append([]byte{}, file.content...)
		}
		if c.Before == nil && c.After == nil || c.Before != nil && c.After != nil && bytes.Equal(c.Before, c.After) {
			continue
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b FileChange) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// longest is how many lines of a new or removed file a diff shows: walls are thousands.
const longest = 200

// Diff is a change as a patch that Git and people read.
func Diff(changes []FileChange) string {
	out := &strings.Builder{}
	for _, c := range changes {
		before, after := "a/"+c.Name, "b/"+c.Name
		if c.Before == nil {
			before = "/dev/null"
		}
		if c.After == nil {
			after = "/dev/null"
		}
		lines := bytes.Count(c.Before, []byte("\n")) + bytes.Count(c.After, []byte("\n"))
		if (c.Before == nil || c.After == nil) && lines > longest {
			fmt.Fprintf(out, "--- %s\n+++ %s\n(%d lines)\n", before, after, lines)
			continue
		}
		if lines == 0 {
			fmt.Fprintf(out, "--- %s\n+++ %s\n(empty)\n", before, after)
			continue
		}
		out.WriteString(udiff.Unified(before, after, string(c.Before), string(c.After)))
	}
	return out.String()
}

// Save writes a change, all of it or nothing: every new content is on disk beside its
// file before the first file is replaced, and what fails midway is taken back.
func (t *Tree) Save(changes []FileChange) (err error) {
	var made, staged []string
	var done []FileChange
	defer func() {
		for _, name := range staged {
			_ = os.Remove(name)
		}
		if err == nil {
			return
		}
		for _, c := range slices.Backward(done) {
			err = errors.Join(err, t.restore(c))
		}
		for _, dir := range slices.Backward(made) {
			_ = os.Remove(dir) // unless somebody put something into it
		}
		err = fmt.Errorf("nothing was written: %w", err)
	}()
	temporary := map[string]string{}
	for _, c := range changes {
		if c.After == nil {
			continue
		}
		dirs, err := makeDirs(filepath.Dir(t.Full(c.Name)))
		made = append(made, dirs...)
		if err != nil {
			return err
		}
		name, err := stage(t.Full(c.Name), c.After)
		if name != "" {
			staged = append(staged, name)
		}
		if err != nil {
			return err
		}
		temporary[c.Name] = name
	}
	for _, c := range changes {
		if err := t.unchanged(c); err != nil {
			return err
		}
	}
	for _, c := range changes {
		full := t.Full(c.Name)
		if c.After == nil {
			err = os.Remove(full)
		} else {
			err = os.Rename(temporary[c.Name], full)
		}
		if err != nil {
			return err
		}
		done = append(done, c)
	}
	for _, c := range changes {
		if c.After == nil {
			t.removeEmpty(path.Dir(c.Name))
		}
	}
	return nil
}

// unchanged refuses to write over what somebody changed since it was read.
func (t *Tree) unchanged(c FileChange) error {
	now, err := os.ReadFile(t.Full(c.Name))
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Before == nil:
		return nil
	case err == nil && c.Before != nil && bytes.Equal(now, c.Before):
		return nil
	default:
		return fmt.Errorf("%s changed in the meantime: try again", t.Full(c.Name))
	}
}

func (t *Tree) restore(c FileChange) error {
	if c.Before == nil {
		return os.Remove(t.Full(c.Name))
	}
	name, err := stage(t.Full(c.Name), c.Before)
	if err != nil {
		return err
	}
	return os.Rename(name, t.Full(c.Name))
}

// stage writes content beside the file that it is to become, with that file's mode.
func stage(full string, content []byte) (string, error) {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(full); err == nil {
		mode = info.Mode().Perm()
		if mode&0o200 == 0 {
			return "", fmt.Errorf("%s is read-only", full)
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(full), ".tenantry-*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(content)
	return tmp.Name(), errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
}

// makeDirs makes a directory and those above it, and tells which it made.
func makeDirs(dir string) ([]string, error) {
	if _, err := os.Stat(dir); err == nil {
		return nil, nil
	}
	made, err := makeDirs(filepath.Dir(dir))
	if err != nil {
		return made, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// removeEmpty removes a directory that a change left empty, and those above it.
func (t *Tree) removeEmpty(dir string) {
	for dir != "." && os.Remove(t.Full(dir)) == nil {
		dir = path.Dir(dir)
	}
}

// Changed tells whether a file has a change that is not written.
func (t *Tree) Changed(name string) bool { return t.changed[name] }

// ChangedNames are the files that have one, sorted.
func (t *Tree) ChangedNames() []string { return slices.Sorted(maps.Keys(t.changed)) }
