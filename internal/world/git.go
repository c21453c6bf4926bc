// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"path/filepath"
	"strings"
)

// isGit tells whether what is left of a path is of git's protocol.
func isGit(rest string) bool {
	return rest == "info/refs" || rest == "git-upload-pack" || rest == "git-receive-pack" || rest == "HEAD" || strings.HasPrefix(rest, "objects/")
}

// gitPath takes a request's path apart into a repository's and what git asks of it.
func gitPath(path string) (repository, rest string, ok bool) {
	for _, rest := range []string{"info/refs", "git-upload-pack"} {
		if repository, ok := strings.CutSuffix(path, "/"+rest); ok {
			return repository, rest, true
		}
	}
	return "", "", false
}

// serveGit hands a request to git's own server, which gives and never takes.
func (w *World) serveGit(out http.ResponseWriter, r *http.Request, bare, rest string) {
	if r.ContentLength < 0 {
		// CGI wants to know the length beforehand.
		body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, 64<<20))
		if err != nil {
			http.Error(out, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	r = r.Clone(r.Context())
	r.URL.Path = "/" + filepath.Base(bare) + "/" + rest
	r.Header.Del("Authorization") // whoever asks may read
	(&cgi.Handler{
		Path: w.backend, Root: "/", Logger: w.log, Stderr: w.log.Writer(),
		Env: append(gitEnv(), "GIT_PROJECT_ROOT="+filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1"),
	}).ServeHTTP(out, r)
}
