// SPDX-License-Identifier: Apache-2.0

package world

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/net/proxy"
)

// authority signs for every host, as a run's does.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, file: filepath.Join(t.TempDir(), "ca.crt")}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	write(t, a.file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return a
}

func (a *authority) certificate(host string) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}, err
}

func (a *authority) client(t *testing.T, w *World) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	through, err := url.Parse(w.HTTPProxy())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func start(t *testing.T, opts Options) (*World, *authority) {
	t.Helper()
	a := newAuthority(t)
	opts.Dir, opts.Certificate, opts.Log = t.TempDir(), a.certificate, io.Discard
	w, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w, a
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// clone fetches a branch or tag through a world, as Flux would, and gives the directory.
func clone(t *testing.T, w *World, a *authority, address string, args ...string) (string, error) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "clone")
	cmd := exec.CommandContext(t.Context(), "git", append(append([]string{"clone", "--quiet"}, args...), address, to)...)
	cmd.Env = append(gitEnv(), "HTTPS_PROXY="+w.HTTPProxy(), "GIT_SSL_CAINFO="+a.file, "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return to, nil
}

func has(t *testing.T, file, want string) {
	t.Helper()
	if content, err := os.ReadFile(file); err != nil || string(content) != want {
		t.Errorf("%s: %v %q, want %q", filepath.Base(file), err, content, want)
	}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	cmd.Dir, cmd.Env = dir, gitEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A mapped directory is cloned under its outside URL, as it stands, and as it stands later.
func TestGitOverHTTPS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "a: 1\n")
	write(t, filepath.Join(dir, ".gitignore"), "secret\n")
	write(t, filepath.Join(dir, "secret"), "x\n")
	w, a := start(t, Options{Mappings: []Mapping{{URL: "https://git.example.com/team/app.git", Dir: dir}}})
	for _, address := range []string{"https://git.example.com/team/app", "https://git.example.com/team/app.git"} {
		to, err := clone(t, w, a, address)
		if err != nil {
			t.Fatalf("%s: %v %s", address, err, to)
		}
		has(t, filepath.Join(to, "a.yaml"), "a: 1\n")
		if _, err := os.Stat(filepath.Join(to, "secret")); err == nil {
			t.Errorf("%s: what is ignored is served", address)
		}
	}
	before, _ := w.Head("https://git.example.com/team/app")
	write(t, filepath.Join(dir, "b.yaml"), "b: 2\n")
	if got := w.Refresh(t.Context()); !slices.Equal(got, []string{"https://git.example.com/team/app.git"}) {
		t.Errorf("a new file: changed %v", got)
	}
	if got := w.Refresh(t.Context()); len(got) > 0 {
		t.Errorf("nothing new: changed %v", got)
	}
	if after, _ := w.Head("ssh://git@git.example.com/team/app"); after == before {
		t.Error("the commit is as before")
	}
	to, err := clone(t, w, a, "https://git.example.com/team/app")
	if err != nil {
		t.Fatal(err, to)
	}
	has(t, filepath.Join(to, "b.yaml"), "b: 2\n")
	for _, address := range []string{"https://git.example.com/team/other", "https://elsewhere.example.com/x/y"} {
		if out, err := clone(t, w, a, address); err == nil {
			t.Errorf("%s is served: %s", address, out)
		}
	}
	if got := strings.Join(w.Misses(), " "); got != "https://git.example.com/team/other https://elsewhere.example.com/x/y" {
		t.Errorf("misses are %q", got)
	}
}

func TestOnlyWhatIsMappedIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "a")
	write(t, filepath.Join(filepath.Dir(dir), "beside"), "secret")
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	w, a := start(t, Options{Mappings: []Mapping{{URL: "https://git.example.com/team/app", Dir: dir}}})
	c := a.client(t, w)
	for path, want := range map[string]int{
		"/team/app/info/refs?service=git-upload-pack":  http.StatusOK,
		"/team/app/info/refs?service=git-receive-pack": http.StatusForbidden,
		"/team/app/a":                                   http.StatusOK,
		"/team/app/../../beside":                        http.StatusNotFound,
		"/team/app/%2e%2e/beside":                       http.StatusNotFound,
		"/team/app/link":                                http.StatusNotFound,
		"/team/app/.git/config":                         http.StatusNotFound,
		"/team/apple/info/refs?service=git-upload-pack": http.StatusNotFound,
		"/team/info/refs?service=git-upload-pack":       http.StatusNotFound,
	} {
		if got, body := get(t, c, "https://git.example.com"+path); got != want || strings.Contains(body, "secret") {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}
}

func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Whatever branch a source asks for is the directory as it stands; a tag and a commit are
// what the directory's own history has under them.
func TestBranchesTagsAndCommits(t *testing.T) {
	t.Parallel()
	const address = "https://git.example.com/team/app"
	dir := t.TempDir()
	gitIn(t, dir, "init", "--quiet", "--initial-branch=work")
	write(t, filepath.Join(dir, "a"), "released")
	gitIn(t, dir, "add", "a")
	gitIn(t, dir, "commit", "--quiet", "-m", "one")
	gitIn(t, dir, "tag", "v1.2.0")
	released := gitIn(t, dir, "rev-parse", "HEAD")
	write(t, filepath.Join(dir, "a"), "edited")
	w, a := start(t, Options{Mappings: []Mapping{{URL: address, Dir: dir}}})
	for _, ref := range []string{"refs/heads/production", "refs/tags/v1.2.0", "refs/tags/v9"} {
		w.Has(t.Context(), address, ref)
	}
	for ref, want := range map[string]string{"main": "edited", "production": "edited", "v1.2.0": "released", "v9": "edited"} {
		to, err := clone(t, w, a, address, "--depth=1", "--branch="+ref)
		if err != nil {
			t.Fatal(ref, err, to)
		}
		has(t, filepath.Join(to, "a"), want)
	}
	if to, err := clone(t, w, a, address); err != nil || gitIn(t, to, "cat-file", "-t", released) != "commit" {
		t.Errorf("the commit is not in the history: %v", err)
	}
	if got := strings.Join(w.StandsIn(), ","); got != address+" v9" {
		t.Errorf("the directory stands in for %q", got)
	}
}

// What is laid over a directory is served like a commit, and gone again after.
func TestLay(t *testing.T) {
	t.Parallel()
	const address = "https://git.example.com/team/app"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "a")
	write(t, filepath.Join(dir, "b"), "b")
	w, a := start(t, Options{Mappings: []Mapping{{URL: address, Dir: dir}}})
	if err := w.Lay(t.Context(), address, map[string][]byte{"a": []byte("other"), "b": nil, "c/d": []byte("new")}); err != nil {
		t.Fatal(err)
	}
	to, err := clone(t, w, a, address)
	if err != nil {
		t.Fatal(err, to)
	}
	has(t, filepath.Join(to, "a"), "other")
	has(t, filepath.Join(to, "c/d"), "new")
	if _, err := os.Stat(filepath.Join(to, "b")); err == nil {
		t.Error("what was taken out is there")
	}
	if err := w.Lay(t.Context(), address, nil); err != nil {
		t.Fatal(err)
	}
	if to, err = clone(t, w, a, address); err != nil {
		t.Fatal(err, to)
	}
	has(t, filepath.Join(to, "a"), "a")
	has(t, filepath.Join(to, "b"), "b")
	if err := w.Lay(t.Context(), "https://git.example.com/other", nil); err == nil {
		t.Error("files are laid over nothing")
	}
}

// Git over SSH goes through the SOCKS proxy, and the host has this world's key.
func TestGitOverSSH(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Fatal("this test wants ssh: install openssh-client")
	}
	dir, home := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "a: 1\n")
	w, _ := start(t, Options{Mappings: []Mapping{{URL: "https://git.example.com/team/app", Dir: dir}}})
	write(t, filepath.Join(home, "known_hosts"), w.KnownHosts("git.example.com")+"\n")
	if out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(home, "id")).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	// ssh has no SOCKS of its own: this test binary is its ProxyCommand.
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ssh := "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=" + filepath.Join(home, "known_hosts") +
		" -i " + filepath.Join(home, "id") + " -o ProxyCommand='" + exe + " %h:%p'"
	try := func(address string) (string, error) {
		to := filepath.Join(t.TempDir(), "clone")
		cmd := exec.CommandContext(t.Context(), "git", "clone", "--quiet", address, to)
		cmd.Env = append(gitEnv(), "GIT_SSH_COMMAND="+ssh, socksEnv+"="+w.SOCKSProxy(), "HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return string(out), err
		}
		return to, nil
	}
	to, err := try("ssh://git@git.example.com/team/app.git")
	if err != nil {
		t.Fatal(err, to)
	}
	has(t, filepath.Join(to, "a.yaml"), "a: 1\n")
	for _, address := range []string{"ssh://git@git.example.com/team/other", "ssh://git@elsewhere.example.com/team/app"} {
		if out, err := try(address); err == nil {
			t.Errorf("%s is served: %s", address, out)
		}
	}
	if got := strings.Join(w.Misses(), " "); got != "ssh://git.example.com/team/other ssh://elsewhere.example.com" {
		t.Errorf("misses are %q", got)
	}
}

const socksEnv = "TENANTRY_TEST_SOCKS"

// TestMain is also the ProxyCommand of ssh: it joins its ends to an address.
func TestMain(m *testing.M) {
	if through := os.Getenv(socksEnv); through != "" && len(os.Args) == 2 {
		u, err := url.Parse(through)
		if err != nil {
			os.Exit(1)
		}
		d, err := proxy.FromURL(u, proxy.Direct)
		if err != nil {
			os.Exit(1)
		}
		conn, err := d.Dial("tcp", os.Args[1])
		if err != nil {
			os.Exit(1)
		}
		go func() { _, _ = io.Copy(conn, os.Stdin) }()
		_, _ = io.Copy(os.Stdout, conn)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const chartYAML = "apiVersion: v2\nname: greeter\nversion: 1.2.3\n"

func TestHelmRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "greeter", "Chart.yaml"), chartYAML)
	w, a := start(t, Options{Mappings: []Mapping{{URL: "https://charts.example.com/stable", Dir: dir}}})
	c := a.client(t, w)
	code, index := get(t, c, "https://charts.example.com/stable/index.yaml")
	if code != http.StatusOK || !strings.Contains(index, "greeter-1.2.3.tgz") {
		t.Errorf("%d %s", code, index)
	}
	if code, body := get(t, c, "https://charts.example.com/stable/greeter-1.2.3.tgz"); code != http.StatusOK || !slices.Contains(untar(t, []byte(body)), "greeter/Chart.yaml") {
		t.Errorf("the chart: %d", code)
	}
	write(t, filepath.Join(dir, "greeter", "Chart.yaml"), strings.Replace(chartYAML, "1.2.3", "2.0.0", 1))
	if _, index := get(t, c, "https://charts.example.com/stable/index.yaml"); !strings.Contains(index, "greeter-2.0.0.tgz") {
		t.Errorf("a new version is not there: %s", index)
	}
}

func untar(t *testing.T, content []byte) []string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return names
		}
		names = append(names, h.Name)
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	files, charts := t.TempDir(), t.TempDir()
	write(t, filepath.Join(files, "web", "a.yaml"), "a: 1\n")
	write(t, filepath.Join(charts, "greeter", "Chart.yaml"), chartYAML)
	w, a := start(t, Options{Mappings: []Mapping{
		{URL: "oci://registry.example.com/team/manifests", Dir: files, Tag: "1.0.0"}, {URL: "oci://registry.example.com/charts", Dir: charts},
	}})
	c := a.client(t, w)
	const base = "https://registry.example.com/v2/"
	if code, _ := get(t, c, base); code != http.StatusOK {
		t.Errorf("/v2/: %d", code)
	}
	for name, tc := range map[string]struct{ ref, tags, config, file string }{
		"team/manifests": {"any-tag", `["1.0.0","latest"]`, fluxConfig, "web/a.yaml"},
		"charts/greeter": {"1.2.3", `["1.2.3"]`, helmConfig, "greeter/Chart.yaml"},
	} {
		if _, body := get(t, c, base+name+"/tags/list"); !strings.Contains(body, tc.tags) {
			t.Errorf("%s: tags are %s", name, body)
		}
		code, body := get(t, c, base+name+"/manifests/"+tc.ref)
		m := ocispec.Manifest{}
		if err := json.Unmarshal([]byte(body), &m); err != nil || code != http.StatusOK || m.Config.MediaType != tc.config || len(m.Layers) != 1 {
			t.Fatalf("%s: %d %v %s", name, code, err, body)
		}
		_, layer := get(t, c, base+name+"/blobs/"+m.Layers[0].Digest.String())
		if !slices.Contains(untar(t, []byte(layer)), tc.file) {
			t.Errorf("%s: the layer holds %v", name, untar(t, []byte(layer)))
		}
	}
	if code, _ := get(t, c, base+"team/other/manifests/latest"); code != http.StatusNotFound {
		t.Errorf("what is not mapped: %d", code)
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "web", "a.yaml"), "a: 1\n")
	write(t, filepath.Join(dir, "b.yaml"), "b: 1\n")
	w, a := start(t, Options{Mappings: []Mapping{{URL: "https://s3.example.com/manifests", Dir: dir}}})
	c := a.client(t, w)
	for _, base := range []string{"https://s3.example.com/manifests", "https://manifests.s3.example.com"} {
		if _, body := get(t, c, base+"/?location="); !strings.Contains(body, "us-east-1</LocationConstraint>") {
			t.Errorf("%s: location is %s", base, body)
		}
		if _, body := get(t, c, base+"/?list-type=2&prefix=web"); !strings.Contains(body, "<Key>web/a.yaml</Key>") || strings.Contains(body, "b.yaml") {
			t.Errorf("%s: list is %s", base, body)
		}
		if code, body := get(t, c, base+"/web/a.yaml"); code != http.StatusOK || body != "a: 1\n" {
			t.Errorf("%s: object is %d %s", base, code, body)
		}
	}
}

// With the network the real place is asked; what it says is recorded, and a run without
// the network hears the same.
func TestRecordAndReplay(t *testing.T) {
	dir, charts, tape := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "tape")
	write(t, filepath.Join(dir, "a.yaml"), "a: 1\n")
	write(t, filepath.Join(charts, "index.yaml"), "apiVersion: v1\n")
	// Another world is the internet of this one.
	internet, outer := start(t, Options{Mappings: []Mapping{{URL: "https://git.example.com/team/app", Dir: dir}, {URL: "https://charts.example.com", Dir: charts}}})
	t.Setenv("HTTPS_PROXY", internet.HTTPProxy())
	t.Setenv("GIT_SSL_CAINFO", outer.file)
	roots := x509.NewCertPool()
	roots.AddCert(outer.cert)

	record, inner := start(t, Options{Network: true, Record: tape})
	through, err := url.Parse(internet.HTTPProxy())
	if err != nil {
		t.Fatal(err)
	}
	// The environment is read once in a process; a test says it itself.
	record.outside.transport.Proxy = http.ProxyURL(through)
	record.outside.transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	check := func(w *World, a *authority) {
		t.Helper()
		to, err := clone(t, w, a, "https://git.example.com/team/app")
		if err != nil {
			t.Fatal(err, to)
		}
		has(t, filepath.Join(to, "a.yaml"), "a: 1\n")
		if code, body := get(t, a.client(t, w), "https://charts.example.com/index.yaml?X-Amz-Signature=abc"); code != http.StatusOK || body != "apiVersion: v1\n" {
			t.Errorf("index: %d %q", code, body)
		}
	}
	check(record, inner)
	if code, _ := get(t, inner.client(t, record), "https://charts.example.com/token?scope=x"); code == http.StatusOK {
		t.Error("a token is given")
	}
	record.Stop()
	internet.Stop()
	replay, again := start(t, Options{Replay: tape})
	check(replay, again)
	if code, _ := get(t, again.client(t, replay), "https://charts.example.com/other.tgz"); code != http.StatusNotFound {
		t.Errorf("what was not recorded: %d", code)
	}
	if got := replay.Misses(); !slices.Equal(got, []string{"https://charts.example.com/other.tgz"}) {
		t.Errorf("misses are %v", got)
	}
	err = filepath.WalkDir(tape, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			if bytes.Contains(content, []byte("abc")) || bytes.Contains(content, []byte("scope=")) {
				t.Errorf("%s holds a signature or a token", path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBadMappings(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"git.example.com/team/app": "want a URL like", "ftp://example.com/x": "want a URL like", "ssh://git@example.com": "want a URL like",
		"https://git.example.com/nowhere": "is not a directory",
	} {
		_, err := Start(context.Background(), Options{Dir: t.TempDir(), Log: io.Discard, Mappings: []Mapping{{URL: address, Dir: "/nowhere"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// What a killed run left half-recorded is gone at the next start, and what is whole stays.
func TestCleanTape(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"tmp-3", "mine/tmp-4", "git/github.com/org/tmp-tools.git/HEAD", "git/git.example.com/team/tmp-1/HEAD", "git/git.example.com/team/apps.git/HEAD", "http/example.com/tmp-2", "http/example.com/abc"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := CleanTape(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"tmp-3": true, "mine/tmp-4": true, "git/github.com/org/tmp-tools.git/HEAD": true, "git/git.example.com/team/tmp-1": false, "http/example.com/tmp-2": false, "git/git.example.com/team/apps.git/HEAD": true, "http/example.com/abc": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	if err := CleanTape(filepath.Join(dir, "nowhere")); err != nil {
		t.Errorf("a tape that is not there yet: %v", err)
	}
}

// Nothing outside a mapped directory is served, and nothing of a repository's own, by
// whichever link it is asked for.
func TestLinksLeadNowhere(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, filepath.Join(home, "private", "deep", "secret.yaml"), "a: 1")
	dir := filepath.Join(home, "mapped")
	write(t, filepath.Join(dir, "own", "apps.yaml"), "a: 1")
	write(t, filepath.Join(dir, "sub", ".git", "config"), "token")
	for link, to := range map[string]string{"out": filepath.Join(home, "private"), "git": filepath.Join("sub", ".git"), "zero": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	// The filter reads what is served from Git: a link without an end is not read.
	w, a := start(t, Options{
		Mappings: []Mapping{{URL: "https://example.com/files", Dir: dir}},
		Filter:   func(Mapping, string, []byte) []byte { return nil },
	})
	c := a.client(t, w)
	for path, want := range map[string]int{
		"v2/files/own/manifests/latest": http.StatusOK, "v2/files/out/manifests/latest": http.StatusNotFound,
		"v2/files/out/deep/manifests/latest": http.StatusNotFound, "v2/files/git/manifests/latest": http.StatusNotFound,
		"files/own/apps.yaml": http.StatusOK, "files/out/deep/secret.yaml": http.StatusNotFound,
		"files/sub/.git/config": http.StatusNotFound, "files/git/config": http.StatusNotFound, "files/sub/.GIT/config": http.StatusNotFound,
	} {
		if code, body := get(t, c, "https://example.com/"+path); code != want {
			t.Errorf("%s is answered with %d, want %d: %.80s", path, code, want, body)
		}
	}
}

// A chart has the versions that it has; a directory without any stands in for what is
// asked for, which is told.
func TestTagsOfArtifacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "chart", "Chart.yaml"), "apiVersion: v2\nname: chart\nversion: 1.2.3\n")
	write(t, filepath.Join(dir, "plain", "a.yaml"), "a: 1")
	w, a := start(t, Options{Mappings: []Mapping{{URL: "oci://example.com/files", Dir: dir}}})
	c := a.client(t, w)
	for path, want := range map[string]int{"chart/manifests/1.2.3": http.StatusOK, "chart/manifests/9.9.9": http.StatusNotFound, "plain/manifests/latest": http.StatusOK, "plain/manifests/v7": http.StatusOK} {
		if code, _ := get(t, c, "https://example.com/v2/files/"+path); code != want {
			t.Errorf("%s is answered with %d, want %d", path, code, want)
		}
	}
	if got := strings.Join(w.StandsIn(), ","); got != "example.com/files/plain v7" {
		t.Errorf("what stands in is %q", got)
	}
}

// What signs a request, or is a token, is neither on a tape nor in its names.
func TestNothingThatOpensIsRecorded(t *testing.T) {
	t.Parallel()
	tp := &tape{dir: "tape"}
	plain, _ := tp.keyOf("GET", "https://example.com/a?prefix=x")
	for _, signed := range []string{
		"https://example.com/a?prefix=x&sig=SECRET&se=1", "https://example.com/a?private_token=SECRET&prefix=x", "https://SECRET@example.com/a?prefix=x",
		"https://example.com/a?X-Amz-Signature=SECRET&prefix=x", "https://example.com/a?access_token=SECRET&prefix=x",
	} {
		file, clean := tp.keyOf("GET", signed)
		if file != plain || strings.Contains(clean, "SECRET") {
			t.Errorf("%s is kept as %s %s", signed, file, clean)
		}
	}
	for _, host := range []string{"..", "../../etc", ".", "a/b"} {
		if tp.repository(host, "x") != "" || isHost(host) {
			t.Errorf("%q is taken for a host", host)
		}
	}
	err := withoutURL(&url.Error{Op: "Get", URL: "https://example.com/?sig=SECRET", Err: io.EOF})
	if strings.Contains(err.Error(), "SECRET") {
		t.Errorf("the error is %v", err)
	}
}

// What is tracked although it is ignored is part of a commit, and so of what is served; what
// is only ignored is not.
func TestIgnoredFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "tracked.log"), "1")
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "add", "-f", "tracked.log")
	gitIn(t, dir, "commit", "-q", "-m", "first")
	write(t, filepath.Join(dir, ".gitignore"), "*.log\n")
	write(t, filepath.Join(dir, "other.log"), "2")
	write(t, filepath.Join(dir, "tracked.log"), "3")
	w, a := start(t, Options{Mappings: []Mapping{{URL: "https://git.example.com/team/apps", Dir: dir}}})
	to, err := clone(t, w, a, "https://git.example.com/team/apps")
	if err != nil {
		t.Fatal(to)
	}
	has(t, filepath.Join(to, "tracked.log"), "3")
	if _, err := os.Stat(filepath.Join(to, "other.log")); err == nil {
		t.Error("what is ignored is served")
	}
}
