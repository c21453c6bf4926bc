// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bytes"
	"crypto/md5" //nolint:gosec // S3 names objects by it; nothing is protected with it
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/repo/v1"

	"github.com/tenantry/tenantry/internal/chart"
	"github.com/tenantry/tenantry/internal/tree"
)

// charts packages the charts of directories that stand in for Helm repositories.
type charts struct {
	dir string
	mu  sync.Mutex
	// packed are directories with an index, by the directory they were made of.
	packed map[string]packed
}

type packed struct {
	print uint64
	dir   string
}

func newCharts(dir string) *charts { return &charts{dir: dir, packed: map[string]packed{}} }

// serve answers for a Helm repository: a directory with an index as it is, and one without
// as the charts in it, packaged.
func (c *charts) serve(out http.ResponseWriter, r *http.Request, dir, rest string) {
	if _, err := os.Stat(filepath.Join(dir, "index.yaml")); errors.Is(err, fs.ErrNotExist) && (rest == "index.yaml" || strings.HasSuffix(rest, ".tgz")) {
		made, err := c.pack(dir)
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		dir = made
	}
	serveFile(out, r, dir, rest)
}

// pack packages the charts of a directory and writes their index, unless that was done.
func (c *charts) pack(dir string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	print, err := fingerprint(dir)
	if err != nil {
		return "", err
	}
	if p, ok := c.packed[dir]; ok && p.print == print {
		return p.dir, nil
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, dir, print)
	to := filepath.Join(c.dir, hex.EncodeToString(h.Sum(nil)))
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", err
	}
	all, err := chartsIn(dir)
	if err != nil {
		return "", err
	}
	for _, ch := range all {
		if _, err := ch.Save(to); err != nil {
			return "", fmt.Errorf("package chart %s: %w", ch.Name(), err)
		}
	}
	index, err := repo.IndexDirectory(to, "")
	if err != nil {
		return "", err
	}
	index.SortEntries()
	if err := index.WriteFile(filepath.Join(to, "index.yaml"), 0o600); err != nil {
		return "", err
	}
	c.packed[dir] = packed{print, to}
	return to, nil
}

// chartsIn are the charts of a directory: itself, its subdirectories or its archives.
func chartsIn(dir string) ([]*chart.Chart, error) {
	t := tree.New(dir)
	candidates := []string{"."}
	for _, n := range t.List(".") {
		if name, isDir := strings.CutSuffix(n, "/"); isDir || strings.HasSuffix(name, ".tgz") {
			candidates = append(candidates, name)
		}
	}
	var all []*chart.Chart
	for _, name := range candidates {
		c, err := chart.Load(t, name)
		if errors.Is(err, chart.ErrNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// serveFile gives a file of a directory, and of the directory itself that it is there.
func serveFile(out http.ResponseWriter, r *http.Request, dir, rest string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(out, "what is served here can only be read", http.StatusMethodNotAllowed)
		return
	}
	if rest == "" {
		out.WriteHeader(http.StatusOK)
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = root.Close() }() // it was only read
	name := path.Clean(rest)
	info, err := root.Stat(name)
	if _, ok := confined(dir, rest); err != nil || !info.Mode().IsRegular() || !ok {
		http.NotFound(out, r)
		return
	}
	content, err := root.ReadFile(name)
	if err != nil {
		http.NotFound(out, r)
		return
	}
	out.Header().Set("ETag", etag(content))
	http.ServeContent(out, r, path.Base(rest), info.ModTime(), bytes.NewReader(content))
}

// confined is a path below a directory, if all links in it stay below, and no part of it
// is of a repository's own: there are credentials.
func confined(dir, rest string) (full string, ok bool) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", false
	}
	full, err = filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(rest)))
	if err != nil {
		return "", false
	}
	below, err := filepath.Rel(root, full)
	if err != nil || !filepath.IsLocal(below) {
		return "", false
	}
	for part := range strings.SplitSeq(rest+"/"+filepath.ToSlash(below), "/") {
		if strings.EqualFold(part, ".git") {
			return "", false
		}
	}
	return full, true
}

func etag(content []byte) string {
	sum := md5.Sum(content) //nolint:gosec // see above
	return `"` + hex.EncodeToString(sum[:]) + `"`
}
