// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"
)

// gitRepository commits with the git of whoever calls: their hooks, their signature,
// their credentials.
type gitRepository struct {
	dir   string
	names []string
	push  bool
}

// openGit sees, before anything is written, that a change can be committed.
func openGit(ctx context.Context, dir string, changes []tree.FileChange, push bool) (*gitRepository, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	r := &gitRepository{dir: full, push: push}
	for _, err := os.Stat(r.dir); err != nil && r.dir != filepath.Dir(r.dir); _, err = os.Stat(r.dir) {
		r.dir = filepath.Dir(r.dir) // one that a change is about to make
	}
	real, err := filepath.EvalSymlinks(r.dir) // Git knows files by where they are
	if err != nil {
		return nil, err
	}
	full, r.dir = filepath.Join(real, strings.TrimPrefix(full, r.dir)), real
	if _, err := r.git(ctx, "rev-parse", "--is-inside-work-tree"); err != nil {
		return nil, fmt.Errorf("--commit: %s is in no Git repository: %w; nothing was written", dir, err)
	}
	for _, c := range changes {
		r.names = append(r.names, filepath.Join(full, filepath.FromSlash(c.Name)))
	}
	if _, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "MERGE_HEAD"); err == nil {
		return nil, errors.New("--commit: a merge is going on: finish it first; nothing was written")
	}
	if _, err := r.git(ctx, "var", "GIT_COMMITTER_IDENT"); err != nil {
		return nil, fmt.Errorf("--commit: git doesn't know who you are: set user.name and user.email; nothing was written")
	}
	if push {
		if _, err := r.git(ctx, "rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{push}"); err != nil {
			return nil, fmt.Errorf("--push: the branch has nowhere to go: %w; nothing was written", err)
		}
	}
	if len(changes) == 0 {
		return r, nil
	}
	ignored, err := r.git(ctx, append([]string{"check-ignore", "--"}, r.names...)...)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: none is
		return nil, fmt.Errorf("--commit: %w; nothing was written", err)
	}
	if err == nil {
		return nil, fmt.Errorf("--commit: Git ignores what would be written: %s; nothing was written", strings.ReplaceAll(ignored, "\n", ", "))
	}
	dirty, err := r.git(ctx, append([]string{"status", "--porcelain", "--"}, r.names...)...)
	if err != nil {
		return nil, err
	}
	if dirty != "" {
		return nil, fmt.Errorf("--commit: these files have changes of yours that are not committed: %s; nothing was written", strings.ReplaceAll(dirty, "\n", ", "))
	}
	return r, nil
}

// commit commits the files of the change, whatever else is staged, and pushes.
func (r *gitRepository) commit(ctx context.Context, s Streams, message string) error {
	if _, err := r.git(ctx, append([]string{"add", "--all", "--"}, r.names...)...); err != nil {
		return fmt.Errorf("the files are written and not committed: %w; commit them yourself", err)
	}
	if _, err := r.git(ctx, append([]string{"commit", "--quiet", "--message", message, "--only", "--"}, r.names...)...); err != nil {
		return fmt.Errorf("the files are written and not committed: %w; when that is mended, commit them with `git commit`", err)
	}
	id, err := r.git(ctx, "rev-parse", "--short", "HEAD")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.Out, "committed %s %s\n", id, message); err != nil || !r.push {
		return err
	}
	if err := r.pushNow(ctx, s); err != nil {
		return fmt.Errorf("committed and not pushed: %w", err)
	}
	return nil
}

func (r *gitRepository) pushNow(ctx context.Context, s Streams) error {
	if _, err := r.git(ctx, "push", "--quiet"); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Out, "pushed")
	return err
}

func (r *gitRepository) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.dir}, args...)...)
	var out, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	said := strings.Join(strings.Fields(stderr.String()), " ")
	var exit *exec.ExitError
	if errors.As(err, &exit) && said != "" {
		return "", fmt.Errorf("git %s: %s", args[0], said)
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(out.String()), nil
}
