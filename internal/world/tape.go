// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// tape keeps what came from outside, for runs without it: whole repositories, and the
// answers to requests that only read. A nil tape has nothing.
//
//	git/HOST/PATH.git    a mirror
//	http/HOST/SUM.json   what was asked for and how it was answered
//	http/HOST/SUM        the answer's content
type tape struct {
	dir string
	// records says that it may be added to.
	records bool
	mu      sync.Mutex
	// mirrors that are being made, or were by this run.
	mirrors map[mirrorKey]*mirror
}

// mirrorKey is a mirror's directory and the credentials that it was asked for with.
type mirrorKey struct{ bare, authorization string }

// mirror is one that is made once in a run: for each who asks, as the real place may let in
// one and not the other.
type mirror struct {
	once sync.Once
	err  error
}

// take is one answer on the tape.
type take struct {
	URL string `json:"url"`
	// Status is 404 for what was looked for and is not there; 0 is 200.
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header"`
}

func openTape(record, replay string) (*tape, error) {
	switch {
	case record != "":
		return &tape{dir: record, records: true, mirrors: map[mirrorKey]*mirror{}}, os.MkdirAll(record, 0o755) //nolint:gosec // it is to be committed and read by others
	case replay != "":
		if info, err := os.Stat(replay); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s is not a directory that --record has written", replay)
		}
		return &tape{dir: replay}, nil
	}
	return nil, nil //nolint:nilnil // a nil tape has nothing
}

// unfinished are the names of what is being recorded.
var unfinished = regexp.MustCompile(`^tmp-[0-9]+$`)

// CleanTape removes what a run left on a tape that was killed while it recorded.
func CleanTape(dir string) error {
	for _, part := range []string{"git", "http"} {
		err := filepath.WalkDir(filepath.Join(dir, part), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || !unfinished.MatchString(e.Name()):
				return err
			case !e.IsDir():
				return os.Remove(path)
			}
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			return filepath.SkipDir
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (t *tape) replays() bool { return t != nil && !t.records }

func (t *tape) hasHost(host string) bool {
	if !t.replays() || !isHost(host) {
		return false
	}
	info, err := os.Stat(filepath.Join(t.dir, "git", host))
	return err == nil && info.IsDir()
}

// repository is the mirror of one, or "".
func (t *tape) repository(host, path string) string {
	if t == nil {
		return ""
	}
	bare := t.mirrorDir(host, path)
	if bare == "" {
		return ""
	}
	if _, err := os.Stat(filepath.Join(bare, "HEAD")); err != nil {
		return ""
	}
	return bare
}

// mirrorDir is where the mirror of a repository is, or would be; "" for what is no place of
// one.
func (t *tape) mirrorDir(host, path string) string {
	if !isHost(host) || !filepath.IsLocal(path) {
		return ""
	}
	return filepath.Join(t.dir, "git", host, filepath.FromSlash(path)+".git")
}

// isHost tells whether a name is one of a host rather than of a place on disk.
func isHost(host string) bool {
	return filepath.IsLocal(host) && !strings.ContainsAny(host, `/\`) && host != "."
}

// mirror brings a repository onto the tape as the client would have fetched it.
func (t *tape) mirror(ctx context.Context, address, host, path, authorization string) (string, error) {
	bare := t.mirrorDir(host, path)
	if bare == "" {
		return "", fmt.Errorf("%s/%s is no place of a repository", host, path)
	}
	key := mirrorKey{bare, authorization}
	t.mu.Lock()
	m := t.mirrors[key]
	if m == nil {
		m = &mirror{}
		t.mirrors[key] = m
	}
	t.mu.Unlock()
	m.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, mirrorTimeout)
		defer cancel()
		m.err = t.fetch(ctx, address, bare, authorization)
	})
	if m.err != nil {
		t.mu.Lock()
		delete(t.mirrors, key) // tried again when it is asked for again
		t.mu.Unlock()
	}
	return bare, m.err
}

// mirrorTimeout is how long a whole repository may take.
const mirrorTimeout = 3 * time.Minute

// passedOn are variables by which the outside is reached.
var passedOn = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"}

// fetch clones a repository, or brings a mirror from an earlier run up to date. It has no
// credentials but those that Flux has: what the user's own open is no test of the fleet.
func (t *tape) fetch(ctx context.Context, address, bare, authorization string) error {
	if err := os.MkdirAll(filepath.Dir(bare), 0o755); err != nil { //nolint:gosec // see openTape
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(bare), "tmp-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // gone already when renamed
	env := append(gitEnv(), "HOME="+tmp, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true")
	for _, name := range passedOn {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	if authorization != "" {
		// By the environment: arguments are seen by all users of a machine.
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: "+authorization)
	}
	if _, err := os.Stat(filepath.Join(bare, "HEAD")); err == nil {
		_, err := runGit(ctx, tmp, env, nil, "--git-dir="+bare, "fetch", "--quiet", "--prune", address, "+refs/*:refs/*")
		return err
	}
	fresh := filepath.Join(tmp, "mirror.git")
	if _, err := runGit(ctx, tmp, env, nil, "clone", "--quiet", "--mirror", address, fresh); err != nil {
		return err
	}
	// Where it is from stays out of it: an address may hold a password.
	if _, err := runGit(ctx, tmp, env, nil, "--git-dir="+fresh, "remote", "remove", "origin"); err != nil {
		return err
	}
	// Its refs are packed, and an empty directory can't be committed.
	if err := os.WriteFile(filepath.Join(fresh, "refs", "heads", ".gitkeep"), nil, 0o644); err != nil { //nolint:gosec // see openTape
		return err
	}
	if err := os.Rename(fresh, bare); err != nil {
		if _, there := os.Stat(filepath.Join(bare, "HEAD")); there != nil {
			return err // another cluster's world was not faster either
		}
	}
	return nil
}

// asked are the parts of a query that say what is asked for. Whatever else is in one, it
// may sign it, and is neither kept nor told.
var asked = []string{"list-type", "prefix", "delimiter", "location", "continuation-token", "start-after", "max-keys", "encoding-type", "fetch-owner", "n", "last", "digest", "service", "version", "versions"}

// keyOf is the name of a request's answer.
func (t *tape) keyOf(method, address string) (file, clean string) {
	u, err := url.Parse(address)
	if err != nil || !isHost(u.Hostname()) {
		return "", ""
	}
	q := u.Query()
	maps.DeleteFunc(q, func(k string, _ []string) bool { return !slices.Contains(asked, k) })
	u.RawQuery, u.User, u.Scheme = q.Encode(), nil, ""
	sum := sha256.Sum256([]byte(method + " " + u.String()))
	return filepath.Join(t.dir, "http", u.Hostname(), hex.EncodeToString(sum[:12])), "https:" + u.String()
}

// secret tells whether a request asks for a token rather than for content.
func secret(u *url.URL) bool {
	q := u.Query()
	return q.Has("scope") || q.Has("service") || strings.HasSuffix(u.Path, "/token") || strings.Contains(u.Path, "oauth2")
}

// serveTape answers from a recording.
func (w *World) serveTape(out http.ResponseWriter, r *http.Request, scheme string) bool {
	t := w.tape
	if !t.replays() {
		return false
	}
	if path, rest, ok := gitPath(r.URL.Path); ok {
		if bare := t.repository(hostOf(r.Host), repoPath(path)); bare != "" {
			w.serveGit(out, r, bare, rest)
			return true
		}
	}
	file, _ := t.keyOf(r.Method, scheme+"://"+r.Host+r.URL.RequestURI())
	if file == "" {
		return false
	}
	meta, err := os.ReadFile(file + ".json")
	if err != nil {
		return false
	}
	k := take{}
	if err := json.Unmarshal(meta, &k); err != nil {
		return false
	}
	for name, value := range k.Header {
		out.Header().Set(name, value)
	}
	content, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = content.Close() }() // it was only read
	out.WriteHeader(max(k.Status, http.StatusOK))
	if r.Method != http.MethodHead {
		_, _ = io.Copy(out, content) // the client may be gone
	}
	return true
}

// kept are the headers of an answer that clients go by.
var kept = []string{"Content-Type", "Content-Length", "Docker-Content-Digest", "Docker-Distribution-Api-Version", "Etag", "Last-Modified", "Link"}

// keep passes an answer's content on and puts it onto the tape when it came whole.
func (t *tape) keep(out io.Writer, method, address string, resp *http.Response) error {
	file, clean := t.keyOf(method, address)
	if file == "" {
		return fmt.Errorf("%s is no address", clean)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // see openTape
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "tmp-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already when renamed
	_, err = io.Copy(io.MultiWriter(out, tmp), resp.Body)
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	k := take{URL: clean, Header: map[string]string{}}
	if resp.StatusCode != http.StatusOK {
		k.Status = resp.StatusCode
	}
	for _, name := range kept {
		if v := resp.Header.Get(name); v != "" {
			k.Header[name] = v
		}
	}
	meta, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	if err := os.Chmod(tmp.Name(), 0o644); err != nil { //nolint:gosec // see openTape
		return err
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return err
	}
	return os.WriteFile(file+".json", append(meta, '\n'), 0o644) //nolint:gosec // see openTape
}
