// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked by another process")

// tryLock takes a lock that ends with this process, however it ends.
func tryLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	// Who cleared up may have removed the file between the two.
	held, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(held, now) {
		_ = f.Close()
		return nil, errLocked
	}
	return func() { _ = f.Close() }, nil
}

// lockFile waits for the lock.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
