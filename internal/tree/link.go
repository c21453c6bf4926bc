// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

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
