// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/schema"
	"github.com/tenantry/tenantry/internal/tree"
)

// Options say what clusters are rendered with.
type Options struct {
	// Kubernetes is the minor, as 1.36. Default: the newest that is known.
	Kubernetes string
	// At are the directories that stand in for URLs of sources.
	At map[string]string
	// Now decides which exceptions have ended.
	Now time.Time
	// Whole compiles every Tenant.
	Whole bool
}

// Open makes ready to render the fleet in a directory. It takes up the CRDs that are in it.
func Open(dir string, opts Options) (*Fleet, error) {
	if opts.Kubernetes == "" {
		opts.Kubernetes = schema.Newest
	}
	kinds, err := schema.For(opts.Kubernetes)
	if err != nil {
		return nil, err
	}
	f := &Fleet{Root: build.New(tree.New(dir)), At: map[string]*build.Builder{}, Kinds: kinds, Now: opts.Now, Whole: opts.Whole}
	byDir := map[string]*build.Builder{filepath.Clean(dir): f.Root}
	for url, at := range opts.At {
		at = filepath.Clean(at)
		if byDir[at] == nil {
			byDir[at] = build.New(tree.New(at))
		}
		f.At[Normal(url)] = byDir[at]
	}
	for _, b := range f.Repositories() {
		prefetch(b.Tree())
	}
	f.define(f.Root.Tree()) // what tenants' repositories define, no cluster takes from them
	return f, nil
}

// prefetch reads and parses the manifests of a repository on all processors; what can't be
// is told by whoever needs it.
func prefetch(t *tree.Tree) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	const batch = 64
	for chunk := range slices.Chunk(t.Manifests(), batch) {
		g.Go(func() error {
			for _, name := range chunk {
				_, _ = t.Documents(name) // it is kept
			}
			return nil
		})
	}
	_ = g.Wait() // none of them fails
}

// Repositories are the fleet's own and those at hand, each once.
func (f *Fleet) Repositories() []*build.Builder {
	all := []*build.Builder{f.Root}
	for _, b := range f.At {
		if !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	slices.SortFunc(all[1:], func(a, b *build.Builder) int { return strings.Compare(a.Tree().Dir, b.Tree().Dir) })
	return all
}

// Names are those of the clusters that have a directory, sorted.
func (f *Fleet) Names() []string {
	var all []string
	for _, n := range f.Root.Tree().List("clusters") {
		if name, isDir := strings.CutSuffix(n, "/"); isDir && !strings.HasPrefix(n, ".") {
			all = append(all, name)
		}
	}
	slices.Sort(all) // a slash sorts after a dash, and these have none
	return all
}

// Clusters renders several, on all processors.
func (f *Fleet) Clusters(names ...string) []*Cluster {
	all := make([]*Cluster, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			all[i] = f.Cluster(name)
			return nil
		})
	}
	_ = g.Wait() // none of them fails
	return all
}

// define takes up the CRDs of a repository, before anything is checked by them.
func (f *Fleet) define(t *tree.Tree) {
	for _, name := range t.Manifests() {
		content, err := t.Read(name)
		if err != nil || !bytes.Contains(content, []byte("CustomResourceDefinition")) {
			continue
		}
		documents, err := t.Documents(name)
		if err != nil {
			continue // it is told when it is built
		}
		for _, d := range tree.Flattened(documents) {
			if tree.Text(d, "kind") != "CustomResourceDefinition" {
				continue
			}
			fields := map[string]any{}
			if content, err := tree.ToJSON(d); err == nil && json.Unmarshal(content, &fields) == nil {
				f.Define(fields)
			}
		}
	}
}

// Define takes up the kinds of an object, if it is a CRD. Our own is the one of this
// version, whichever is in the fleet.
func (f *Fleet) Define(fields map[string]any) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if fields["kind"] == "CustomResourceDefinition" && fields["apiVersion"] == "apiextensions.k8s.io/v1" && build.Text(fields, "spec", "group") != v1alpha1.Group && decode(fields, crd) {
		f.Kinds.Define(crd)
	}
}
