// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Mapping serves a directory under an outside URL.
type Mapping struct {
	URL    string
	Dir    string
	Branch string
}

// gitRepo is a bare repository whose branch follows a directory's working tree,
// what is not committed included.
type gitRepo struct {
	Mapping
	host, path string
	bare       string
	index      string

	mu    sync.Mutex
	print uint64
	tree  string
}

// ErrNoGit says that git is missing, and what to do.
var ErrNoGit = errors.New("git is not installed: Flux reads the fleet through it; install git and start again")

func newGitRepo(ctx context.Context, m Mapping, bare string) (*gitRepo, error) {
	u, err := url.Parse(m.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return nil, fmt.Errorf("map %s: want a URL like https://git.example.com/team/repository", m.URL)
	}
	if info, err := os.Stat(m.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("map %s: %s is not a directory", m.URL, m.Dir)
	}
	if m.Branch == "" {
		m.Branch = "main"
	}
	r := &gitRepo{Mapping: m, host: u.Host, path: repoPath(u.Path), bare: bare, index: bare + ".index"}
	if _, err := r.git(ctx, "init", "--quiet", "--bare", "--initial-branch="+m.Branch, bare); err != nil {
		return nil, err
	}
	_, err = r.snapshot(ctx)
	return r, err
}

// repoPath is a repository's path with neither the slash at its end nor .git.
func repoPath(path string) string { return strings.TrimSuffix(strings.Trim(path, "/"), ".git") }

// snapshot commits the directory as it stands and tells whether it had changed.
func (r *gitRepo) snapshot(ctx context.Context) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	print, err := fingerprint(r.Dir)
	if err != nil {
		return false, err
	}
	if print == r.print {
		return false, nil
	}
	if _, err := r.git(ctx, "add", "--all", "."); err != nil {
		return false, err
	}
	tree, err := r.git(ctx, "write-tree")
	if err != nil {
		return false, err
	}
	r.print = print
	if tree == r.tree {
		return false, nil
	}
	args := []string{"commit-tree", tree, "-m", "working tree"}
	if parent, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+r.Branch); err == nil {
		args = append(args, "-p", parent)
	}
	commit, err := r.git(ctx, args...)
	if err != nil {
		return false, err
	}
	if _, err := r.git(ctx, "update-ref", "refs/heads/"+r.Branch, commit); err != nil {
		return false, err
	}
	r.tree = tree
	return true, nil
}

// git runs git on the bare repository with the directory as its working tree, deaf to
// the user's own configuration.
func (r *gitRepo) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.Dir
	cmd.Env = append(gitEnv(),
		"GIT_DIR="+r.bare, "GIT_WORK_TREE="+r.Dir, "GIT_INDEX_FILE="+r.index,
		"GIT_AUTHOR_NAME=tenantry", "GIT_AUTHOR_EMAIL=tenantry@localhost",
		"GIT_COMMITTER_NAME=tenantry", "GIT_COMMITTER_EMAIL=tenantry@localhost",
		// The same content is the same revision, on whichever cluster it is served.
		"GIT_AUTHOR_DATE=2000-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2000-01-01T00:00:00Z",
	)
	if args[0] == "init" {
		cmd.Env = gitEnv()
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", ErrNoGit
	}
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], r.Dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}

func gitEnv() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
}

// fingerprint changes when a file of a directory does.
func fingerprint(dir string) (uint64, error) {
	h := fnv.New64a()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone while we looked; the next look sees it so
		}
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(h, "%s %d %d %s\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		return nil
	})
	return h.Sum64(), err
}
