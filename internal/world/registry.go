// SPDX-License-Identifier: Apache-2.0

package world

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tenantry/tenantry/internal/chart"
	"github.com/tenantry/tenantry/internal/tree"
)

// Media types of what Flux takes from registries.
const (
	fluxConfig  = "application/vnd.cncf.flux.config.v1+json"
	fluxContent = "application/vnd.cncf.flux.content.v1.tar+gzip"
	helmConfig  = "application/vnd.cncf.helm.config.v1+json"
	helmContent = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// images are the artifacts made of directories, by directory.
type images struct {
	mu   sync.Mutex
	made map[string]*artifact
	// standsIn are tags that a directory as it is stands in for.
	standsIn []string
}

func newImages() *images { return &images{made: map[string]*artifact{}} }

// note remembers a tag that something else than a version stands in for.
func (i *images) note(tag string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Contains(i.standsIn, tag) && !strings.HasSuffix(tag, " latest") {
		i.standsIn = append(i.standsIn, tag)
	}
}

// artifact is what a registry has under one name.
type artifact struct {
	print uint64
	// tags name manifests; "" is the last of them.
	tags  map[string]digest.Digest
	blobs map[digest.Digest][]byte
	types map[digest.Digest]string
	// anyTag says that it is no version of something: it stands in for every tag.
	anyTag bool
}

// serveRegistry answers the distribution protocol for mapped directories; path is what
// follows /v2/.
func (w *World) serveRegistry(out http.ResponseWriter, r *http.Request, host, path string) bool {
	if path == "" {
		// The real registry may want a token, unless it can't be asked.
		if w.hasHost(host) && (w.outside == nil || !w.outside.answers(r.Context(), host)) || w.tape.replays() {
			out.WriteHeader(http.StatusOK)
			return true
		}
		return false
	}
	name, what, ref := splitRegistryPath(path)
	repo, rest := w.find(host, name)
	if repo == nil {
		return false
	}
	a, err := w.images.of(repo, rest)
	if err != nil {
		http.Error(out, err.Error(), http.StatusNotFound)
		return true
	}
	switch what {
	case "tags":
		out.Header().Set("Content-Type", "application/json")
		tags := slices.Sorted(maps.Keys(a.tags))
		_ = json.NewEncoder(out).Encode(map[string]any{"name": name, "tags": tags[1:]}) // without ""; the client may be gone
	case "manifests":
		d, ok := a.tags[ref]
		if parsed, err := digest.Parse(ref); err == nil {
			d, ok = parsed, true
		}
		switch {
		case ok:
		case a.anyTag:
			w.images.note(host + "/" + name + " " + ref)
			d = a.tags[""]
		default:
			http.NotFound(out, r)
			return true
		}
		a.serve(out, r, d)
	case "blobs":
		a.serve(out, r, digest.Digest(ref))
	default:
		http.NotFound(out, r)
	}
	return true
}

// splitRegistryPath takes a path apart at the last word of the protocol: a name may hold
// such words too.
func splitRegistryPath(path string) (name, what, ref string) {
	name, at := path, -1
	for _, w := range []string{"manifests", "blobs", "tags"} {
		if i := strings.LastIndex(path, "/"+w+"/"); i > at {
			at, name, what, ref = i, path[:i], w, path[i+len(w)+2:]
		}
	}
	return name, what, ref
}

func (a *artifact) serve(out http.ResponseWriter, r *http.Request, d digest.Digest) {
	content, ok := a.blobs[d]
	if !ok {
		http.NotFound(out, r)
		return
	}
	out.Header().Set("Content-Type", a.types[d])
	out.Header().Set("Docker-Content-Digest", d.String())
	out.Header().Set("Content-Length", fmt.Sprint(len(content)))
	if r.Method != http.MethodHead {
		_, _ = out.Write(content) // the client may be gone
	}
}

// of makes the artifact of what lies in a mapped directory, unless it has not changed: an
// image layout, a chart, the archives of one, or else the files themselves.
func (i *images) of(repo *repository, rest string) (*artifact, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	// What is not there may be named in a chart's archive.
	dir := filepath.Join(repo.Dir, filepath.FromSlash(rest))
	if _, err := os.Lstat(dir); err == nil {
		var ok bool
		if dir, ok = confined(repo.Dir, rest); !ok {
			return nil, fmt.Errorf("%s is not in %s", rest, repo.Dir)
		}
	}
	print, err := fingerprint(repo.Dir)
	if err != nil {
		return nil, err
	}
	if a := i.made[dir]; a != nil && a.print == print {
		return a, nil
	}
	a := &artifact{print: print, tags: map[string]digest.Digest{}, blobs: map[digest.Digest][]byte{}, types: map[digest.Digest]string{}}
	if err := a.fill(repo, dir, rest); err != nil {
		return nil, err
	}
	i.made[dir] = a
	return a, nil
}

func (a *artifact) fill(repo *repository, dir, rest string) error {
	if _, err := os.Stat(filepath.Join(dir, ocispec.ImageLayoutFile)); err == nil {
		return a.layout(dir)
	}
	if c, err := chart.Load(tree.New(dir), "."); err == nil {
		return a.chart(c)
	}
	t := tree.New(repo.Dir)
	for _, n := range t.List(".") {
		if c, err := chart.Load(t, n); err == nil && strings.HasSuffix(n, ".tgz") && c.Name() == filepath.Base(rest) {
			if err := a.chart(c); err != nil {
				return err
			}
		}
	}
	if len(a.tags) > 0 {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not in %s", rest, repo.Dir)
	}
	content, err := archive(dir, repo)
	if err != nil {
		return err
	}
	tags := []string{"", "latest"}
	if repo.Tag != "" {
		tags = append(tags, repo.Tag)
	}
	a.anyTag = true
	return a.add(fluxConfig, []byte("{}"), fluxContent, content, tags...)
}

func (a *artifact) chart(c *chart.Chart) error {
	dir, err := os.MkdirTemp("", "tenantry-chart-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // its content is in memory
	file, err := c.Save(dir)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	config, err := c.Metadata()
	if err != nil {
		return err
	}
	// A tag can't hold a plus; Helm writes an underscore for it.
	return a.add(helmConfig, config, helmContent, content, "", strings.ReplaceAll(c.Version(), "+", "_"))
}

// add makes a manifest of a config and one layer.
func (a *artifact) add(configType string, config []byte, layerType string, layer []byte, tags ...string) error {
	manifest, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: a.blob(configType, config), Layers: []ocispec.Descriptor{a.blob(layerType, layer)},
		Annotations: map[string]string{ocispec.AnnotationRevision: "working tree", ocispec.AnnotationCreated: "2000-01-01T00:00:00Z"},
	})
	if err != nil {
		return err
	}
	d := a.blob(ocispec.MediaTypeImageManifest, manifest)
	for _, t := range tags {
		a.tags[t] = d.Digest
	}
	return nil
}

func (a *artifact) blob(mediaType string, content []byte) ocispec.Descriptor {
	d := digest.FromBytes(content)
	a.blobs[d], a.types[d] = content, mediaType
	return ocispec.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(content))}
}

// layout takes up an OCI image layout, as oras and crane write it.
func (a *artifact) layout(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // it was only read
	content, err := root.ReadFile(ocispec.ImageIndexFile)
	if err != nil {
		return err
	}
	index := ocispec.Index{}
	if err := json.Unmarshal(content, &index); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, ocispec.ImageIndexFile), err)
	}
	files, err := fs.Glob(root.FS(), ocispec.ImageBlobsDir+"/*/*")
	if err != nil {
		return err
	}
	for _, f := range files {
		content, err := root.ReadFile(f)
		if err != nil {
			return err
		}
		d := digest.NewDigestFromEncoded(digest.Algorithm(filepath.Base(filepath.Dir(f))), filepath.Base(f))
		a.blobs[d], a.types[d] = content, "application/octet-stream"
	}
	for _, m := range index.Manifests {
		a.types[m.Digest] = m.MediaType
		a.tags[m.Annotations[ocispec.AnnotationRefName]] = m.Digest
		a.tags[""] = m.Digest
	}
	a.anyTag = len(a.tags) == 1 // its image has no name
	if len(index.Manifests) == 0 {
		return errors.New(dir + " is an image layout without an image")
	}
	return nil
}

// archive is a directory as Flux's artifacts hold it: the same bytes for the same files.
func archive(dir string, repo *repository) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tarred := tar.NewWriter(zipped)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir
		}
		if !e.Type().IsRegular() {
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if repo.filter != nil {
			if other := repo.filter(repo.Mapping, name, content); other != nil {
				content = other
			}
		}
		if err := tarred.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = tarred.Write(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := tarred.Close(); err != nil {
		return nil, err
	}
	err = zipped.Close()
	return out.Bytes(), err
}
