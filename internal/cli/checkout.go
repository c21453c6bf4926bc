// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkout writes the files of a revision into a directory, and tells the root of the
// repository that dir is in. The working tree and the index are left as they are.
func checkout(ctx context.Context, dir, revision, into string) (string, error) {
	top, err := gitOutput(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("%s is in no Git repository: there is nothing to compare it with", dir)
	}
	root := strings.TrimSpace(top)
	if strings.HasPrefix(revision, "-") {
		return "", usagef("--base %s is no revision", revision)
	}
	commit, err := gitOutput(ctx, root, nil, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("there is no revision %s in %s: fetch it first, or name another with --base", revision, root)
	}
	index := filepath.Join(into, ".git", "index") // a name that nothing in a repository has
	if err := os.MkdirAll(filepath.Dir(index), 0o700); err != nil {
		return "", err
	}
	env := []string{"GIT_INDEX_FILE=" + index}
	for _, args := range [][]string{{"read-tree", strings.TrimSpace(commit)}, {"checkout-index", "--all", "--force", "--prefix=" + into + "/"}} {
		if _, err := gitOutput(ctx, root, env, args...); err != nil {
			return "", fmt.Errorf("read %s: %w", revision, err)
		}
	}
	return filepath.EvalSymlinks(root)
}

func gitOutput(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
