// SPDX-License-Identifier: Apache-2.0

package world

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// serveProxy is the HTTP proxy: it speaks for whichever host is asked for, with a
// certificate of the run for those that want TLS.
func (w *World) serveProxy(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		w.serve(out, r, "http")
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	conn, buffered, err := http.NewResponseController(out).Hijack()
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	defer w.track(conn)()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	w.serveTLS(bufferedConn{conn, buffered.Reader}, host)
}

func (w *World) serveTLS(conn net.Conn, host string) {
	server := &http.Server{
		Handler:           http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) { w.serve(out, r, "https") }),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          w.log,
		TLSConfig: &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.certificate(host) },
		},
	}
	_ = server.ServeTLS(newOneConn(conn), "", "") // ends with the connection
}

// serve answers one request for the outside: from a directory, a recording or the real
// place, in this order.
func (w *World) serve(out http.ResponseWriter, r *http.Request, scheme string) {
	host := hostOf(r.Host)
	if path.Clean("/"+r.URL.Path) != strings.TrimSuffix("/"+strings.TrimPrefix(r.URL.Path, "/"), "/") && r.URL.Path != "/" {
		http.NotFound(out, r) // a path that climbs is nobody's
		return
	}
	if w.serveMapped(out, r, host) {
		return
	}
	address := scheme + "://" + r.Host + r.URL.Path
	switch {
	case w.serveTape(out, r, scheme):
	case w.outside != nil:
		w.outside.serve(w, out, r, scheme)
	default:
		w.missed(address)
		http.Error(out, address+" is not served here: map a directory to it", http.StatusNotFound)
	}
}

// serveMapped answers from a directory, as what the request takes it for.
func (w *World) serveMapped(out http.ResponseWriter, r *http.Request, host string) bool {
	if name, ok := strings.CutPrefix(r.URL.Path, "/v2/"); ok || r.URL.Path == "/v2" {
		return w.serveRegistry(out, r, host, name)
	}
	if repo, rest := w.find(host, r.URL.Path); repo != nil {
		switch {
		case isGit(rest):
			w.serveGit(out, r, repo.bare, rest)
		case isBucket(r):
			serveBucket(out, r, repo.Dir, rest)
		default:
			w.charts.serve(out, r, repo.Dir, rest)
		}
		return true
	}
	// A bucket may be named in the host.
	if bucket, endpoint, ok := strings.Cut(host, "."); ok {
		if repo, rest := w.find(endpoint, bucket+r.URL.Path); repo != nil {
			serveBucket(out, r, repo.Dir, rest)
			return true
		}
	}
	return false
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
