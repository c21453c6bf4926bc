// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

// helperSources are the helper modules' few files; Go's embedding can't reach into
// another module, so `make generate` puts them here.
//
//go:embed helpers.txtar
var helperSources []byte

// HelpersEnv names a directory of prepared helpers.
const HelpersEnv = "TENANTRY_HELPERS"

// KubernetesEnv names the minor version of Kubernetes that a local cluster runs, as 1.35.
// By default it is the newest that the control plane builds as.
const KubernetesEnv = "TENANTRY_KUBERNETES"

// Helpers is a directory with the programs that a local cluster runs.
type Helpers struct {
	// Dir holds the programs, Flux's CRDs in crds/ and kwok's stages in stages/.
	Dir string
}

// Path of a helper program.
func (h Helpers) Path(name string) string { return filepath.Join(h.Dir, name) }

// programs are what a complete directory of helpers holds.
var programs = []string{
	"controlplane", "kwok",
	"source-controller", "kustomize-controller", "helm-controller", "notification-controller",
}

// complete tells whether every program is there.
func (h Helpers) complete() error {
	for _, p := range append([]string{"crds", "stages"}, programs...) {
		if _, err := os.Stat(h.Path(p)); err != nil {
			return fmt.Errorf("%s lacks %s", h.Dir, p)
		}
	}
	return nil
}

// Progress is told of long work: begin is called at its start and gives back what
// to call at its end.
type Progress interface {
	Begin(what string) (end func(err error))
}

// FindHelpers looks for the helpers in TENANTRY_HELPERS, beside this program and in
// the user's cache, and builds them into the cache when they are nowhere. With a minor of
// Kubernetes, as 1.35, it looks for those of that one, which only the cache has.
func FindHelpers(ctx context.Context, kubernetes string, progress Progress) (Helpers, error) {
	if dir := os.Getenv(HelpersEnv); dir != "" && kubernetes == "" {
		h := Helpers{Dir: dir}
		if err := h.complete(); err != nil {
			return h, fmt.Errorf("%s: %w; unset it to have them built", HelpersEnv, err)
		}
		return h, nil
	}
	if exe, err := os.Executable(); err == nil && kubernetes == "" {
		h := Helpers{Dir: filepath.Join(filepath.Dir(exe), "tenantry-helpers")}
		if h.complete() == nil {
			return h, nil
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Helpers{}, fmt.Errorf("find a place for the helper programs: %w; set %s to a directory that has them", err, HelpersEnv)
	}
	if kubernetes == "" {
		kubernetes = os.Getenv(KubernetesEnv)
	}
	return cachedHelpers(ctx, filepath.Join(cache, "tenantry", "helpers"), kubernetes, progress)
}

func cachedHelpers(ctx context.Context, root, kubernetes string, progress Progress) (Helpers, error) {
	goVersion, err := goToolchain(ctx)
	if err != nil {
		// Without Go, what was built before still serves.
		if h, ok := anyBuilt(root); ok && kubernetes == "" {
			return h, nil
		}
		return Helpers{}, err
	}
	sum := sha256.Sum256(append([]byte(goVersion+"\n"+kubernetes+"\n"), helperSources...))
	h := Helpers{Dir: filepath.Join(root, hex.EncodeToString(sum[:8]))}
	if h.complete() == nil {
		return h, nil
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return h, err
	}
	unlock, err := lockFile(ctx, h.Dir+".lock")
	if err != nil {
		return h, fmt.Errorf("wait for another build of the helpers: %w", err)
	}
	defer unlock()
	if h.complete() == nil {
		return h, nil
	}
	return h, buildHelpers(ctx, h.Dir, kubernetes, progress)
}

func goToolchain(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the programs of a local cluster are not built and there is no Go toolchain to build them: "+
			"install Go 1.26 or newer (https://go.dev/dl), or set %s to a directory that has them", HelpersEnv)
	}
	if err != nil {
		return "", fmt.Errorf("ask Go for its version: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// anyBuilt finds helpers of any version of ours.
func anyBuilt(root string) (Helpers, bool) {
	dirs, _ := filepath.Glob(filepath.Join(root, "*"))
	for _, d := range dirs {
		if h := (Helpers{Dir: d}); h.complete() == nil {
			return h, true
		}
	}
	return Helpers{}, false
}

var kubernetesVersion = regexp.MustCompile(`(?m)k8s\.io/kubernetes (v(\d+)\.(\d+)\S*)$`)

// buildHelpers builds into a directory beside dir and renames it, so that dir is
// either whole or absent.
func buildHelpers(ctx context.Context, dir, kubernetes string, progress Progress) error {
	// What a build left that was killed is large. The lock says that none runs.
	leftovers, _ := filepath.Glob(dir + ".building-*")
	for _, l := range leftovers {
		_ = os.RemoveAll(l) // tried again next time
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".building-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // what is left of it after a success is sources
	if err := unpack(tmp); err != nil {
		return err
	}
	bin := filepath.Join(tmp, "bin")
	modfile := "go.mod"
	if kubernetes != "" {
		modfile = "kubernetes-" + kubernetes + ".mod"
	}
	mod, err := os.ReadFile(filepath.Join(tmp, "controlplane", modfile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s=%s: there is no control plane of that version; leave it out, or use one of %s", KubernetesEnv, kubernetes, strings.Join(olderKubernetes(tmp), ", "))
	}
	if err != nil {
		return err
	}
	v := kubernetesVersion.FindSubmatch(mod)
	if v == nil {
		return errors.New("the control plane's go.mod requires no k8s.io/kubernetes")
	}
	version := fmt.Sprintf("-X k8s.io/component-base/version.gitVersion=%s -X k8s.io/component-base/version.gitMajor=%s -X k8s.io/component-base/version.gitMinor=%s", v[1], v[2], v[3])

	steps := []struct {
		what, module, modfile, ldflags, out, pkg string
	}{
		{"Kubernetes " + string(v[1]) + " control plane", "controlplane", modfile, version, filepath.Join(bin, "controlplane"), "."},
		{"kwok", "controlplane", "go.mod", "", bin + string(filepath.Separator), "tool"},
		{"Flux controllers", "flux", "go.mod", "", bin + string(filepath.Separator), "tool"},
	}
	for _, s := range steps {
		end := progress.Begin("build " + s.what)
		err := goBuild(ctx, filepath.Join(tmp, s.module), s.modfile, s.ldflags, s.out, s.pkg)
		end(err)
		if err != nil {
			return fmt.Errorf("build %s: %w", s.what, err)
		}
	}
	if err := copyManifests(ctx, tmp, bin); err != nil {
		return fmt.Errorf("copy manifests of the helpers: %w", err)
	}
	return os.Rename(bin, dir)
}

func helperFiles() []txtar.File { return txtar.Parse(helperSources).Files }

func unpack(dir string) error {
	for _, f := range helperFiles() {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// olderKubernetes are the minors, beside the newest, that the control plane builds as.
func olderKubernetes(src string) []string {
	files, _ := filepath.Glob(filepath.Join(src, "controlplane", "kubernetes-*.mod"))
	var all []string
	for _, f := range files {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "kubernetes-"), ".mod"))
	}
	return all
}

func goBuild(ctx context.Context, dir, modfile, ldflags, out, pkg string) error {
	_, err := goCommand(ctx, dir, "build", "-buildvcs=false", "-modfile="+modfile, "-ldflags=-s -w "+ldflags, "-o", out, pkg)
	return err
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

// manifests are files that the helpers need from the modules they are built from.
var manifests = []struct{ module, pkg, glob, to string }{
	{"flux", "github.com/fluxcd/source-controller", "config/crd/bases/*.yaml", "crds"},
	{"flux", "github.com/fluxcd/kustomize-controller", "config/crd/bases/*.yaml", "crds"},
	{"flux", "github.com/fluxcd/helm-controller", "config/crd/bases/*.yaml", "crds"},
	{"flux", "github.com/fluxcd/notification-controller", "config/crd/bases/*.yaml", "crds"},
	{"controlplane", "sigs.k8s.io/kwok", "kustomize/stage/node/fast/node-*.yaml", "stages"},
	{"controlplane", "sigs.k8s.io/kwok", "kustomize/stage/node/heartbeat/node-*.yaml", "stages"},
	{"controlplane", "sigs.k8s.io/kwok", "kustomize/stage/pod/fast/pod-*.yaml", "stages"},
}

func copyManifests(ctx context.Context, src, bin string) error {
	for _, m := range manifests {
		out, err := goCommand(ctx, filepath.Join(src, m.module), "list", "-m", "-f", "{{.Dir}}", m.pkg)
		if err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(m.glob)))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s has no %s", m.pkg, m.glob)
		}
		for _, f := range files {
			if err := copyFile(f, filepath.Join(bin, m.to, filepath.Base(f))); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeFile(to, content)
}
