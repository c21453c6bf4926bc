// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenantry/tenantry/internal/tree"
)

// repository is a bare repository whose branches follow a directory's working tree,
// what is not committed included.
type repository struct {
	Mapping
	place
	bare   string
	index  string
	filter Filter

	mu       sync.Mutex
	print    uint64
	tree     string
	commit   string
	branches map[string]bool
	// overlay are files that are served beside, or instead of, the directory's; a nil
	// content removes one.
	overlay map[string][]byte
	// standsIn are refs that the directory stands in for, having none of that name.
	standsIn map[string]bool
}

// ErrNoGit says that git is missing, and what to do.
var ErrNoGit = errors.New("git is not installed: Flux reads the fleet through it; install git and start again")

func newRepository(ctx context.Context, m Mapping, at place, bare string, filter Filter) (*repository, error) {
	if m.Branch == "" {
		m.Branch = "main"
	}
	r := &repository{
		Mapping: m, place: at, bare: bare, index: bare + ".index", filter: filter,
		branches: map[string]bool{m.Branch: true}, standsIn: map[string]bool{},
	}
	if _, err := r.git(ctx, nil, "init", "--quiet", "--bare", "--initial-branch="+m.Branch, bare); err != nil {
		return nil, err
	}
	if err := r.history(ctx); err != nil {
		return nil, err
	}
	_, err := r.snapshot(ctx)
	return r, err
}

// history lends the repository the objects of the directory's own, so that sources can
// ask for its tags and commits. A directory that is no repository, or only part of one,
// has none.
func (r *repository) history(ctx context.Context) error {
	own := filepath.Join(r.Dir, ".git")
	if _, err := os.Stat(own); err != nil {
		return nil //nolint:nilerr // a directory is served all the same
	}
	common, err := r.ownGit(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil //nolint:nilerr // it is no repository that git reads
	}
	if err := os.WriteFile(filepath.Join(r.bare, "objects", "info", "alternates"), []byte(filepath.Join(common, "objects")+"\n"), 0o600); err != nil {
		return err
	}
	shallow, err := os.ReadFile(filepath.Join(common, "shallow"))
	if err == nil {
		err = os.WriteFile(filepath.Join(r.bare, "shallow"), shallow, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := r.git(ctx, nil, "config", "uploadpack.allowAnySHA1InWant", "true"); err != nil {
		return err
	}
	if head, err := r.ownGit(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err == nil {
		r.commit = head
		// Files that are tracked although they are ignored are served too.
		if _, err := r.git(ctx, nil, "read-tree", head); err != nil {
			return err
		}
	}
	tags, err := r.ownGit(ctx, "for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags")
	if err != nil || tags == "" {
		return err
	}
	_, err = r.git(ctx, []byte(tags+"\n"), "update-ref", "--stdin")
	return err
}

// snapshot commits the directory as it stands and tells whether it had changed.
func (r *repository) snapshot(ctx context.Context) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	print, err := fingerprint(r.Dir)
	if err != nil || print == r.print {
		return false, err
	}
	if _, err := r.git(ctx, nil, "add", "--all", "."); err != nil {
		return false, err
	}
	if err := r.filtered(ctx); err != nil {
		return false, err
	}
	changed, err = r.publish(ctx)
	if err == nil {
		r.print = print
	}
	return changed, err
}

// filtered puts what the filter makes of files in their place.
func (r *repository) filtered(ctx context.Context) error {
	if r.filter == nil {
		return nil
	}
	listed, err := r.git(ctx, nil, "ls-files", "-z")
	if err != nil {
		return err
	}
	changed := map[string][]byte{}
	for name := range strings.SplitSeq(listed, "\x00") {
		full := filepath.Join(r.Dir, name)
		if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() || info.Size() > tree.MaxFile {
			continue // gone while we looked, a link, or nothing that is written by hand
		}
		content, err := os.ReadFile(full)
		if err != nil {
			continue
		}
		if other := r.filter(r.Mapping, name, content); other != nil {
			changed[name] = other
		}
	}
	return r.stage(ctx, changed, r.index)
}

// stage puts contents into an index; nil takes a file out.
func (r *repository) stage(ctx context.Context, files map[string][]byte, index string) error {
	if len(files) == 0 {
		return nil
	}
	var lines bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == nil {
			fmt.Fprintf(&lines, "0 %040d\t%s\x00", 0, name)
			continue
		}
		blob, err := r.git(ctx, files[name], "hash-object", "-w", "--stdin")
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "100644 %s\t%s\x00", blob, name)
	}
	_, err := r.gitAt(ctx, index, lines.Bytes(), "update-index", "-z", "--index-info")
	return err
}

// publish commits the index with the overlay on it, if that is another tree than the
// one that is served, and moves the branches there.
func (r *repository) publish(ctx context.Context) (changed bool, err error) {
	index := r.index
	if len(r.overlay) > 0 {
		index += ".overlay"
		content, err := os.ReadFile(r.index)
		if err != nil {
			return false, err
		}
		if err := os.WriteFile(index, content, 0o600); err != nil {
			return false, err
		}
		if err := r.stage(ctx, r.overlay, index); err != nil {
			return false, err
		}
	}
	tree, err := r.gitAt(ctx, index, nil, "write-tree")
	if err != nil || tree == r.tree {
		return false, err
	}
	args := []string{"commit-tree", tree, "-m", "working tree"}
	if r.commit != "" {
		args = append(args, "-p", r.commit)
	}
	commit, err := r.git(ctx, nil, args...)
	if err != nil {
		return false, err
	}
	var refs bytes.Buffer
	for b := range r.branches {
		fmt.Fprintf(&refs, "update refs/heads/%s %s\n", b, commit)
	}
	for ref := range r.standsIn {
		fmt.Fprintf(&refs, "update %s %s\n", ref, commit)
	}
	if _, err := r.git(ctx, refs.Bytes(), "update-ref", "--stdin"); err != nil {
		return false, err
	}
	r.tree, r.commit = tree, commit
	return true, nil
}

// lay serves files beside the directory's, until it is called without any.
func (r *repository) lay(ctx context.Context, files map[string][]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overlay = files
	_, err := r.publish(ctx)
	return err
}

// has makes sure that a branch or a tag can be asked for, and tells whether that is new.
func (r *repository) has(ctx context.Context, ref string) (added bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if r.branches[branch] && isBranch || r.standsIn[ref] {
		return false, nil
	}
	if _, err := r.git(ctx, nil, "check-ref-format", ref); err != nil {
		return false, nil //nolint:nilerr // Flux tells of it
	}
	if _, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", ref); err == nil {
		return false, nil
	}
	// Only what could be written: every later commit writes them all at once.
	if _, err := r.git(ctx, nil, "update-ref", ref, r.commit); err != nil {
		return false, err
	}
	if isBranch {
		r.branches[branch] = true
	} else {
		r.standsIn[ref] = true
	}
	return true, nil
}

func (r *repository) head() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commit
}

// git runs git on the bare repository with the directory as its working tree, deaf to
// the user's own configuration.
func (r *repository) git(ctx context.Context, in []byte, args ...string) (string, error) {
	return r.gitAt(ctx, r.index, in, args...)
}

func (r *repository) gitAt(ctx context.Context, index string, in []byte, args ...string) (string, error) {
	env := append(gitEnv(),
		"GIT_DIR="+r.bare, "GIT_WORK_TREE="+r.Dir, "GIT_INDEX_FILE="+index,
		"GIT_AUTHOR_NAME=tenantry", "GIT_AUTHOR_EMAIL=tenantry@localhost",
		"GIT_COMMITTER_NAME=tenantry", "GIT_COMMITTER_EMAIL=tenantry@localhost",
		// The same content is the same revision, on whichever cluster it is served.
		"GIT_AUTHOR_DATE=2000-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2000-01-01T00:00:00Z",
	)
	if args[0] == "init" {
		env = gitEnv()
	}
	return runGit(ctx, r.Dir, env, in, args...)
}

// ownGit asks the directory's own repository. Whoever owns it, it is only read.
func (r *repository) ownGit(ctx context.Context, args ...string) (string, error) {
	return runGit(ctx, r.Dir, gitEnv(), nil, append([]string{"-c", "safe.directory=*"}, args...)...)
}

func runGit(ctx context.Context, dir string, env []string, in []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, env, bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = 2 * time.Second // its own children may hold what it writes to
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", ErrNoGit
	}
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, bytes.TrimSpace(stderr.Bytes()))
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
