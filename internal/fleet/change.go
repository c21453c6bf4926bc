// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/tenantry/tenantry/internal/tree"
)

// ErrBusy says that somebody else is changing the fleet.
var ErrBusy = errors.New("another tenantry is changing this fleet at the moment; nothing was written: try again")

// Open reads a fleet in order to change it. Nobody else does, until Close.
func Open(dir string) (*Fleet, error) {
	if !isFleet(dir) {
		return nil, fmt.Errorf("%s is no fleet: it has neither %s nor %s/ and %s/; name one with --fleet, or make one with `tenantry init`", dir, FileName, clustersDir, tenantsDir)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	f, err := Load(dir)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	f.lock = lock
	return f, nil
}

// lockDir locks the directory itself, so that no file is left behind by whoever is killed.
func lockDir(dir string) (*os.File, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = d.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return d, nil
}

// Close lets others change the fleet.
func (f *Fleet) Close() {
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// Changes are the files that differ from what is on disk, sorted by name.
func (f *Fleet) Changes() ([]tree.FileChange, error) { return f.tree.Changes() }

// Save writes changes, all of them or none.
func (f *Fleet) Save(changes []tree.FileChange) error { return f.tree.Save(changes) }
