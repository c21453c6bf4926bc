// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Options of a world.
type Options struct {
	// Dir is for what it writes: bare repositories and packaged charts.
	Dir string
	// Mappings are the places that directories stand in for. Of two that a URL lies
	// under, the longer one serves it.
	Mappings []Mapping
	// Filter of the files that are served.
	Filter Filter
	// Certificate issues a certificate for a host, by an authority that Flux trusts.
	Certificate func(host string) (*tls.Certificate, error)
	// Network passes on to the real place what is not mapped.
	Network bool
	// Record is a directory that keeps what came from real places; with Network.
	Record string
	// Replay is a directory that an earlier run has recorded.
	Replay string
	// Log is told of every request that was not served, never of credentials.
	Log io.Writer
}

// World answers for the outside.
type World struct {
	opts    Options
	repos   []*repository
	charts  *charts
	images  *images
	tape    *tape
	outside *outside
	backend string
	log     *log.Logger
	hostKey ssh.Signer
	http    *http.Server
	proxy   net.Listener
	socks   net.Listener
	ctx     context.Context
	cancel  context.CancelFunc
	open    sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	certs  map[string]*tls.Certificate
	misses []string
}

// Start serves until Stop.
func Start(ctx context.Context, opts Options) (_ *World, err error) {
	backend, err := gitBackend(ctx)
	if err != nil {
		return nil, err
	}
	w := &World{
		opts: opts, backend: backend, log: log.New(opts.Log, "", log.LstdFlags),
		conns: map[net.Conn]bool{}, certs: map[string]*tls.Certificate{},
		charts: newCharts(filepath.Join(opts.Dir, "charts")), images: newImages(),
	}
	if w.repos, err = repositories(ctx, opts); err != nil {
		return nil, err
	}
	if w.tape, err = openTape(opts.Record, opts.Replay); err != nil {
		return nil, err
	}
	if opts.Network {
		w.outside = newOutside(w.tape)
	}
	if w.hostKey, err = newHostKey(); err != nil {
		return nil, err
	}
	if w.proxy, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	if w.socks, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		_ = w.proxy.Close()
		return nil, err
	}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.http = &http.Server{Handler: http.HandlerFunc(w.serveProxy), ReadHeaderTimeout: 10 * time.Second, ErrorLog: w.log}
	w.open.Go(func() { _ = w.http.Serve(w.proxy) }) // ends with Stop
	w.open.Go(w.serveSocks)
	return w, nil
}

func gitBackend(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", ErrNoGit
	}
	if err != nil {
		return "", fmt.Errorf("git --exec-path: %w", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return "", fmt.Errorf("git came without git-http-backend (%w): install the whole of git", err)
	}
	return backend, nil
}

// repositories are the mapped directories, the one with the longest path first.
func repositories(ctx context.Context, opts Options) ([]*repository, error) {
	if err := os.MkdirAll(filepath.Join(opts.Dir, "git"), 0o700); err != nil {
		return nil, err
	}
	var all []*repository
	for i, m := range opts.Mappings {
		at, err := m.check()
		if err != nil {
			return nil, err
		}
		r, err := newRepository(ctx, m, at, filepath.Join(opts.Dir, "git", fmt.Sprintf("%d.git", i)), opts.Filter)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b *repository) int { return len(b.path) - len(a.path) })
	return all, nil
}

// Stop ends every connection.
func (w *World) Stop() {
	w.cancel()
	_ = w.http.Close()
	_ = w.socks.Close()
	w.mu.Lock()
	for c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.open.Wait()
}

// track closes a connection with the world; done is called at its own end.
func (w *World) track(c net.Conn) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.conns, c)
		_ = c.Close()
	}
}

// HTTPProxy is for HTTPS_PROXY and HTTP_PROXY.
func (w *World) HTTPProxy() string { return "http://" + w.proxy.Addr().String() }

// SOCKSProxy is for ALL_PROXY, which Git over SSH goes by.
func (w *World) SOCKSProxy() string { return "socks5h://" + w.socks.Addr().String() }

// find is the mapping that a URL lies under, and the rest of its path.
func (w *World) find(host, path string) (*repository, string) {
	for _, r := range w.repos {
		if rest, ok := r.within(host, path); ok {
			return r, rest
		}
	}
	return nil, ""
}

// missed notes an address that was asked for and is not served.
func (w *World) missed(address string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	address, _, _ = strings.Cut(address, "/info/refs")
	if !slices.Contains(w.misses, address) {
		w.misses = append(w.misses, address)
		w.log.Printf("not mapped: %s", address)
	}
}

// Misses are the addresses that were asked for and not served.
func (w *World) Misses() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.misses)
}

// Refresh takes up what changed in the mapped directories and gives the URLs of those.
func (w *World) Refresh(ctx context.Context) (changed []string) {
	for _, r := range w.repos {
		is, err := r.snapshot(ctx)
		if err != nil && ctx.Err() == nil {
			w.log.Printf("follow %s: %v", r.Dir, err)
		}
		if is {
			changed = append(changed, r.URL)
		}
	}
	return changed
}

// Has makes sure that a ref of a mapped repository can be asked for, and tells whether
// that is new. A tag that the directory's history has is served from there.
func (w *World) Has(ctx context.Context, url, ref string) bool {
	r := w.mapped(url)
	if r == nil {
		return false
	}
	added, err := r.has(ctx, ref)
	if err != nil {
		w.log.Printf("%s of %s: %v", ref, url, err)
	}
	return added
}

// StandsIn are tags that a source asked for, and its directory stands in for as it is.
func (w *World) StandsIn() []string {
	var all []string
	for _, r := range w.repos {
		r.mu.Lock()
		for ref := range r.standsIn {
			all = append(all, r.URL+" "+strings.TrimPrefix(ref, "refs/tags/"))
		}
		r.mu.Unlock()
	}
	w.images.mu.Lock()
	all = append(all, w.images.standsIn...)
	w.images.mu.Unlock()
	slices.Sort(all)
	return all
}

// Head is the commit that a mapped URL's branches are at; false when it is not mapped.
func (w *World) Head(url string) (string, bool) {
	if r := w.mapped(url); r != nil {
		return r.head(), true
	}
	return "", false
}

// ErrNotMapped says that no directory stands in for a URL.
var ErrNotMapped = errors.New("no directory stands in for it")

// Lay serves files beside those of a mapped directory, as a commit would bring them; a nil
// content removes one. Without files the directory is served as it is again.
func (w *World) Lay(ctx context.Context, url string, files map[string][]byte) error {
	r := w.mapped(url)
	if r == nil {
		return fmt.Errorf("%s: %w", url, ErrNotMapped)
	}
	return r.lay(ctx, files)
}

func (w *World) mapped(url string) *repository {
	for _, r := range w.repos {
		if SamePlace(r.URL, url) {
			return r
		}
	}
	return nil
}

func (w *World) certificate(host string) (*tls.Certificate, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.certs[host]; ok {
		return c, nil
	}
	c, err := w.opts.Certificate(host)
	if err == nil {
		w.certs[host] = c
	}
	return c, err
}

// Serves tells whether a URL is answered here rather than by the real place.
func (w *World) Serves(url string) bool {
	p, err := placeOf(url)
	if err != nil {
		return false
	}
	repo, _ := w.find(p.host, p.path)
	return repo != nil || w.tape.replays()
}
