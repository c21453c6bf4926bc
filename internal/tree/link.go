// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// gitDir is Git's own directory: it is no part of what Git keeps, and may hold tokens.
const gitDir = ".git"

// local refuses names that lead out of the tree, and what Git has for itself.
func (t *Tree) local(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return &Error{File: name, What: "it leads out of the repository"}
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == gitDir {
			return fs.ErrNotExist
		}
	}
	return nil
}

// Real is the name of a directory without links, so that one that several names lead to
// has one name.
func (t *Tree) Real(dir string) string {
	dir = path.Clean(dir)
	if dir == "." || t.local(dir) != nil {
		return dir
	}
	t.mu.Lock()
	real, known := t.real[dir]
	t.mu.Unlock()
	if known {
		return real
	}
	real = path.Join(t.Real(path.Dir(dir)), path.Base(dir))
	if info, err := os.Lstat(t.Full(real)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if target, err := t.within(t.Full(real)); err == nil {
			if root, err := filepath.Abs(t.Dir); err == nil {
				if root, err = filepath.EvalSymlinks(root); err == nil {
					if rel, err := filepath.Rel(root, target); err == nil {
						real = filepath.ToSlash(rel)
					}
				}
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.real[dir] = real
	return real
}

// within resolves the links in a path, and refuses one that leads out of the fleet.
func (t *Tree) within(full string) (string, error) {
	root, err := filepath.Abs(t.Dir)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", err
	}
	target, err := filepath.Abs(full)
	if err == nil {
		target, err = filepath.EvalSymlinks(target)
	}
	if err != nil {
		if strings.Contains(err.Error(), "too many links") {
			return "", &Error{File: full, What: "it is a link that leads in a circle"}
		}
		return "", notThere(err)
	}
	if target != root && !strings.HasPrefix(target, root+string(filepath.Separator)) {
		return "", &Error{File: full, What: "it is a link that leads out of the fleet"}
	}
	return target, nil
}

// enclosed refuses a directory that a link takes out of the fleet. Each is looked at once.
func (t *Tree) enclosed(dir string) error {
	if dir == "." || dir == "/" || dir == "" {
		return nil
	}
	t.mu.Lock()
	err, known := t.directories[dir]
	t.mu.Unlock()
	if known {
		return err
	}
	if err = t.enclosed(path.Dir(dir)); err == nil {
		if info, statErr := os.Lstat(t.Full(dir)); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			_, err = t.within(t.Full(dir))
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.directories[dir] = err
	return err
}
