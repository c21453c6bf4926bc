// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settled is how long files have to be left alone before what changed is looked at:
// editors write in several steps.
const settled = 100 * time.Millisecond

// watchFiles does something now, and again whenever a file below the directories
// changes, until it is interrupted. Hidden directories are not watched.
func watchFiles(ctx context.Context, s Streams, dirs []string, do func() error) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	defer func() { _ = w.Close() }() // nothing is lost
	for _, dir := range dirs {
		if err := watchDir(w, dir); err != nil {
			return fmt.Errorf("watch %s: %w", dir, err)
		}
	}
	for ctx.Err() == nil {
		if err := do(); err != nil && !errors.Is(err, errQuiet) {
			_, _ = fmt.Fprintln(s.Err, "tenantry:", err) // what is half-written now may be whole in a moment
		}
		_, _ = fmt.Fprintln(s.Err, "Waiting for changes; Ctrl-C ends it.")
		if err := changed(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func watchDir(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") && path != dir {
			return filepath.SkipDir
		}
		return w.Add(path)
	})
}

// changed waits for a change, and until no more follow.
func changed(ctx context.Context, w *fsnotify.Watcher) error {
	var quiet <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) { // too many at once to be told one by one
				quiet = time.After(settled)
				continue
			}
			return fmt.Errorf("watch files: %w", err)
		case e := <-w.Events:
			if e.Op == fsnotify.Chmod {
				continue
			}
			if e.Has(fsnotify.Create) {
				_ = watchDir(w, e.Name) // it may be a directory, and may be gone already
			}
			quiet = time.After(settled)
		case <-quiet:
			return nil
		}
	}
}
