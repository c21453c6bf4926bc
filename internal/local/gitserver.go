// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// gitServer is the HTTPS proxy of a run: it answers for the outside world. Mapped
// repositories are served from their directories under their own URLs, with
// certificates that only this run's Flux trusts; everything else is refused.
type gitServer struct {
	ca      *authority
	repos   []*gitRepo
	backend string
	log     *log.Logger
	http    *http.Server
	address string

	mu     sync.Mutex
	certs  map[string]*tls.Certificate
	misses []string
}

func startGitServer(ctx context.Context, ca *authority, repos []*gitRepo, logs io.Writer) (*gitServer, error) {
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, ErrNoGit
	}
	if err != nil {
		return nil, fmt.Errorf("git --exec-path: %w", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return nil, fmt.Errorf("git came without git-http-backend (%w): install the whole of git", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &gitServer{
		ca: ca, repos: repos, backend: backend, log: log.New(logs, "", log.LstdFlags),
		address: listener.Addr().String(), certs: map[string]*tls.Certificate{},
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.proxy), ReadHeaderTimeout: 10 * time.Second, ErrorLog: s.log}
	go func() { _ = s.http.Serve(listener) }() // ends with stop
	return s, nil
}

func (s *gitServer) stop() { _ = s.http.Close() }

// URL of the proxy, for HTTPS_PROXY.
func (s *gitServer) URL() string { return "http://" + s.address }

// proxy takes a CONNECT and speaks for the host that was asked for.
func (s *gitServer) proxy(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		s.missed("http://" + r.Host + r.URL.Path)
		http.Error(w, "only HTTPS passes this proxy", http.StatusForbidden)
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !slices.ContainsFunc(s.repos, func(g *gitRepo) bool { return g.hostname() == host }) {
		s.missed("https://" + host)
		http.Error(w, host+" is not served here: map a directory to it", http.StatusForbidden)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = conn.Close()
		return
	}
	s.serveTLS(bufferedConn{conn, buffered.Reader}, host)
}

func (r *gitRepo) hostname() string {
	host, _, err := net.SplitHostPort(r.host)
	if err != nil {
		return r.host
	}
	return host
}

func (s *gitServer) serveTLS(conn net.Conn, host string) {
	server := &http.Server{
		Handler:           http.HandlerFunc(s.serveGit),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          s.log,
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate(host) },
		},
	}
	_ = server.ServeTLS(newOneConn(conn), "", "") // ends with the connection
}

func (s *gitServer) certificate(host string) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.certs[host]; ok {
		return c, nil
	}
	pair, err := s.ca.server("outside-"+host, host)
	if err != nil {
		return nil, err
	}
	c, err := pair.tls()
	if err == nil {
		s.certs[host] = c
	}
	return c, err
}

// serveGit hands a request to git's own server.
func (s *gitServer) serveGit(w http.ResponseWriter, r *http.Request) {
	repo, rest := s.find(r)
	if repo == nil {
		s.missed("https://" + r.Host + r.URL.Path)
		http.NotFound(w, r)
		return
	}
	if r.ContentLength < 0 {
		// CGI wants to know the length beforehand.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	}
	r.URL.Path = "/" + filepath.Base(repo.bare) + rest
	(&cgi.Handler{
		Path: s.backend, Root: "/", Logger: s.log, Stderr: s.log.Writer(),
		Env: append(gitEnv(), "GIT_PROJECT_ROOT="+filepath.Dir(repo.bare), "GIT_HTTP_EXPORT_ALL=1"),
	}).ServeHTTP(w, r)
}

// find is the mapped repository that a request is for, and the rest of its path.
func (s *gitServer) find(r *http.Request) (*gitRepo, string) {
	if path.Clean(r.URL.Path) != r.URL.Path {
		return nil, "" // a path that climbs is nobody's
	}
	for _, g := range s.repos {
		for _, prefix := range []string{"/" + g.path + ".git/", "/" + g.path + "/"} {
			if g.hostname() == hostOf(r.Host) && strings.HasPrefix(r.URL.Path, prefix) {
				return g, "/" + strings.TrimPrefix(r.URL.Path, prefix)
			}
		}
	}
	return nil, ""
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

// missed notes an address that was asked for and is not mapped.
func (s *gitServer) missed(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	address, _, _ = strings.Cut(address, "/info/refs")
	if !slices.Contains(s.misses, address) {
		s.misses = append(s.misses, address)
		s.log.Printf("not mapped: %s", address)
	}
}

// bufferedConn reads first what the HTTP server had read ahead.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// oneConn is a listener that gives one connection and ends when that one does.
type oneConn struct {
	conn chan net.Conn
	addr net.Addr
}

func newOneConn(c net.Conn) *oneConn {
	l := &oneConn{conn: make(chan net.Conn, 1), addr: c.LocalAddr()}
	l.conn <- closing{c, sync.OnceFunc(func() { close(l.conn) })}
	return l
}

func (l *oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.addr }

type closing struct {
	net.Conn
	done func()
}

func (c closing) Close() error {
	defer c.done()
	return c.Conn.Close()
}
