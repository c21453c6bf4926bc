// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkout writes the files of a revision into a directory, and tells the root of the
// repository that dir is in. The working tree is left as it is.
func checkout(ctx context.Context, dir, revision, into string) (string, error) {
	top, err := gitOutput(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("%s is in no Git repository: there is nothing to compare it with", dir)
	}
	root := strings.TrimSpace(string(top))
	if strings.HasPrefix(revision, "-") {
		return "", usagef("--base %s is no revision", revision)
	}
	if _, err := gitOutput(ctx, root, "rev-parse", "--verify", "--quiet", revision+"^{commit}"); err != nil {
		return "", fmt.Errorf("there is no revision %s in %s: fetch it first, or name another with --base", revision, root)
	}
	archive, err := gitOutput(ctx, root, "archive", "--format=tar", revision)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", revision, err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	return root, untar(bytes.NewReader(archive), into)
}

func gitOutput(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// untar writes files and links below a directory, and nothing beside it.
func untar(r io.Reader, into string) error {
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only a handle
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(filepath.Clean(h.Name), 0o700)
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, filepath.Clean(h.Name))
		case tar.TypeReg:
			err = extract(root, filepath.Clean(h.Name), t)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

func extract(root *os.Root, name string, from io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
