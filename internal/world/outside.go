// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// How long a real place may take to be reached and to begin an answer. One that does not
// answer holds up the source that names it, and for no longer than this.
const (
	dialTimeout   = 5 * time.Second
	answerTimeout = 15 * time.Second
)

// outside asks the real places.
type outside struct {
	transport bounded
	tape      *tape
}

// bounded gives up on who does not begin an answer. A proxy on the way may be silent too,
// which no timeout of the transport is for.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(answerTimeout, func() {
		cancel(fmt.Errorf("%s did not answer within %s", r.URL.Host, answerTimeout))
	})
	resp, err := b.Transport.RoundTrip(r.WithContext(ctx))
	timer.Stop()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	// The answer's content may take as long as it does.
	context.AfterFunc(r.Context(), func() { cancel(nil) })
	return resp, nil
}

// answers tells whether a registry can be asked at all.
func (o *outside) answers(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/v2/", nil)
	if err != nil {
		return false
	}
	resp, err := o.transport.RoundTrip(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}

func newOutside(t *tape) *outside {
	return &outside{tape: t, transport: bounded{&http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:   dialTimeout,
		ResponseHeaderTimeout: answerTimeout,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
	}}}
}

// serve passes a request on, and keeps the answer where that is wanted.
func (o *outside) serve(w *World, out http.ResponseWriter, r *http.Request, scheme string) {
	target := &url.URL{Scheme: scheme, Host: r.Host}
	if ip := net.ParseIP(hostOf(r.Host)); ip != nil && ip.IsLinkLocalUnicast() {
		// Where a cloud keeps its machines' credentials: this machine's are nobody's business.
		w.failed(target.String(), errors.New("an address of this machine's cloud is not asked"))
		http.Error(out, "not asked from here", http.StatusForbidden)
		return
	}
	if o.tape != nil {
		if path, rest, ok := gitPath(r.URL.Path); ok {
			o.mirrored(w, out, r, target.JoinPath(path), path, rest)
			return
		}
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && !secret(r.URL) {
			o.recorded(w, out, r, target)
			return
		}
	}
	(&httputil.ReverseProxy{
		Transport: o.transport, ErrorLog: w.log,
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = r.Host },
		ErrorHandler: func(out http.ResponseWriter, _ *http.Request, err error) {
			w.failed(target.String()+r.URL.Path, err)
			http.Error(out, withoutURL(err).Error(), http.StatusBadGateway)
		},
	}).ServeHTTP(out, r)
}

// failed notes a place that could not be asked, without what a query may hold.
func (w *World) failed(address string, err error) {
	err = withoutURL(err)
	w.log.Printf("%s: %v", address, err)
	address, _, _ = strings.Cut(address, "/info/refs")
	w.missed(fmt.Sprintf("%s (%v)", address, err))
}

// withoutURL is an error without the address that a client puts into it, with all that
// signs it.
func withoutURL(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func (o *outside) mirrored(w *World, out http.ResponseWriter, r *http.Request, address *url.URL, path, rest string) {
	bare, err := o.tape.mirror(w.ctx, address.String(), hostOf(r.Host), repoPath(path), r.Header.Get("Authorization"))
	if err != nil {
		w.failed(address.String(), err)
		http.Error(out, withoutURL(err).Error(), http.StatusBadGateway)
		return
	}
	w.serveGit(out, r, bare, rest)
}

// recorded asks for something to be read and keeps the answer. Redirections are followed
// here: where they lead to is good for a moment only.
func (o *outside) recorded(w *World, out http.ResponseWriter, r *http.Request, target *url.URL) {
	address := *r.URL
	address.Scheme, address.Host = target.Scheme, target.Host
	req, err := http.NewRequestWithContext(r.Context(), r.Method, address.String(), nil)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	req.Header = r.Header.Clone()
	for _, h := range []string{"Accept-Encoding", "Range", "If-None-Match", "If-Modified-Since", "Proxy-Connection", "Proxy-Authorization", "Connection"} {
		req.Header.Del(h)
	}
	resp, err := (&http.Client{Transport: o.transport}).Do(req)
	if err != nil {
		w.failed(target.String()+r.URL.Path, err)
		http.Error(out, withoutURL(err).Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	for name, values := range resp.Header {
		out.Header()[name] = values
	}
	out.WriteHeader(resp.StatusCode)
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
		_, _ = io.Copy(out, resp.Body) // the client may be gone
		return
	}
	if err := o.tape.keep(out, r.Method, address.String(), resp); err != nil {
		w.log.Printf("record %s://%s%s: %v", target.Scheme, target.Host, r.URL.Path, err)
	}
}
