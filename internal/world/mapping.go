// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Mapping serves a directory under an outside URL.
type Mapping struct {
	// URL as sources name it: https, http, ssh or oci. Of a bucket it is the endpoint
	// and the name of the bucket.
	URL string
	// Dir is a repository's working tree, a Helm repository's or a bucket's files, or
	// what an OCI artifact holds.
	Dir string
	// Branch under which a working tree is served, beside those that sources ask for.
	// Default: main.
	Branch string
	// Tag is the version under which an OCI artifact, or a working tree for a source that
	// asks for a range of versions, is served.
	Tag string
}

// Filter gives other content for a file of a mapped directory as it is served; nil leaves
// it as it is.
type Filter func(m Mapping, path string, content []byte) []byte

// schemes are those that a mapping's URL may have.
var schemes = []string{"https", "http", "ssh", "oci"}

// ErrURL says what a URL that is served has to look like.
var ErrURL = errors.New("want a URL like https://git.example.com/team/repository, with https, http, ssh or oci")

// place is a URL without its scheme, as mappings are compared: https and ssh to one
// repository are the same place.
type place struct{ host, path string }

func (p place) String() string { return strings.TrimSuffix(p.host+"/"+p.path, "/") }

func placeOf(address string) (place, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) || strings.Trim(u.Path, "/") == "" && u.Scheme != "https" && u.Scheme != "http" {
		return place{}, ErrURL
	}
	return place{u.Hostname(), repoPath(u.Path)}, nil
}

// repoPath is a repository's path with neither the slash at its end nor .git.
func repoPath(path string) string { return strings.TrimSuffix(strings.Trim(path, "/"), ".git") }

// SamePlace tells whether two URLs are of one repository.
func SamePlace(a, b string) bool {
	p, err := placeOf(a)
	if err != nil {
		return false
	}
	q, err := placeOf(b)
	return err == nil && p == q
}

// Below tells whether a URL is that of a mapping, or lies under it.
func Below(address, mapping string) bool {
	a, err := placeOf(address)
	if err != nil {
		return false
	}
	m, err := placeOf(mapping)
	if err != nil {
		return false
	}
	_, ok := m.within(a.host, a.path)
	return ok
}

// within is what of a path lies below the place, and whether it does.
func (p place) within(host, path string) (rest string, ok bool) {
	path = strings.Trim(path, "/")
	switch {
	case p.host != host:
		return "", false
	case p.path == "" || p.path == path:
		return strings.TrimPrefix(path, p.path), true
	}
	for _, prefix := range []string{p.path + ".git", p.path} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return strings.TrimPrefix(rest, "/"), true
		}
	}
	return "", false
}

func (m Mapping) check() (place, error) {
	p, err := placeOf(m.URL)
	if err != nil {
		return p, fmt.Errorf("map %s: %w", m.URL, err)
	}
	if info, err := os.Stat(m.Dir); err != nil || !info.IsDir() {
		return p, fmt.Errorf("map %s: %s is not a directory", m.URL, m.Dir)
	}
	return p, nil
}

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}
