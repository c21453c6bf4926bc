// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	corev1 "k8s.io/api/core/v1"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/compile"
)

// The kinds that rendering follows.
var (
	kustomizationKind = schema.GroupKind{Group: kustomizev1.GroupVersion.Group, Kind: kustomizev1.KustomizationKind}
	tenantKind        = schema.GroupKind{Group: v1alpha1.Group, Kind: "Tenant"}
	releaseKind       = schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}
)

// renderer renders one cluster.
type renderer struct {
	fleet   *Fleet
	cluster *Cluster
	sources map[sourceKey]*Object
	// waiting are syncs whose source was not seen yet.
	waiting []*Sync
	done    map[doneKey]bool
	// homes are tenants by their namespaces.
	homes map[string]*Tenant
	// compiled are the objects of tenants.
	compiled map[*Tenant][]*Object
}

type sourceKey struct{ kind, namespace, name string }

type doneKey struct {
	builder *build.Builder
	id      build.ID
}

// Cluster renders the cluster whose directory is clusters/NAME.
func (f *Fleet) Cluster(name string) *Cluster {
	dir := path.Join("clusters", name)
	r := &renderer{
		fleet: f, cluster: &Cluster{Name: name, byID: map[build.ID]*Object{}, compiled: map[build.ID]*Object{}},
		sources: map[sourceKey]*Object{}, done: map[doneKey]bool{}, homes: map[string]*Tenant{}, compiled: map[*Tenant][]*Object{},
	}
	root := &Sync{
		ID:      build.ID{GroupVersionKind: kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind), Namespace: fluxSystem, Name: fluxSystem},
		Builder: f.Root, Dir: dir, AllVars: true,
	}
	r.done[doneKey{f.Root, root.ID}] = true
	r.cluster.Syncs = append(r.cluster.Syncs, root)
	for _, o := range f.Root.Build(dir).Objects { // what it says itself holds for it too
		if o.GroupKind() == kustomizationKind && o.Namespace == fluxSystem && o.Name == fluxSystem {
			if fields, problem := o.Fields(); problem == nil {
				decode(fields["spec"], &root.Spec)
			}
		}
	}
	r.render(root)
	r.settle()
	r.namespaces()
	r.provisioners()
	r.cluster.homes = r.homes
	return r.cluster
}

// settle renders what waits for its source until nothing comes of it any more. A sync
// whose source is nowhere is left without a builder.
func (r *renderer) settle() {
	for atOnce := false; ; {
		waiting := r.waiting
		r.waiting = nil
		moved := false
		for _, s := range waiting {
			if r.begin(s, atOnce) {
				moved = true
			} else {
				r.waiting = append(r.waiting, s)
			}
		}
		if !moved && atOnce {
			break
		}
		atOnce = !moved // what nothing else brings is not waited for
	}
	for _, s := range r.waiting {
		if s.Source != nil {
			kind, url := s.Source.Kind, urlOf(s.Source.Fields)
			r.cluster.Absent = append(r.cluster.Absent, Absent{Sync: s, Kind: kind, URL: url, Why: "no directory stands in for it"})
		}
	}
	for i := 0; i < len(r.cluster.Objects); i++ {
		if o := r.cluster.Objects[i]; o.GroupKind() == releaseKind && o.Release == nil {
			r.release(o)
		}
	}
}

// locate finds what a sync renders.
func (r *renderer) locate(s *Sync) bool {
	namespace := s.Spec.SourceRef.Namespace
	if namespace == "" {
		namespace = s.ID.Namespace
	}
	s.Source = r.sources[sourceKey{s.Spec.SourceRef.Kind, namespace, s.Spec.SourceRef.Name}]
	switch {
	case s.Spec.SourceRef.Name == fluxSystem && namespace == fluxSystem: // bootstrap makes it, of the fleet itself
		s.Builder = r.fleet.Root
	case s.Source == nil:
		return false
	default:
		s.Builder = r.fleet.at(urlOf(s.Source.Fields))
	}
	s.Dir = clean(s.Spec.Path)
	return s.Builder != nil
}

// render adds what a sync applies.
func (r *renderer) render(s *Sync) {
	if !s.Builder.Exists(s.Dir) {
		if s.Object != nil {
			r.problem(build.Problem{
				Rule: "path-missing", Place: s.At("spec", "path"), What: "path " + s.Spec.Path + " is not in " + s.Builder.Tree().Dir,
				Mend: "name a directory of the source",
			})
		}
		return
	}
	objects, problems := s.objectsOf()
	for _, p := range problems {
		r.problem(p)
	}
	r.variables(s)
	s.Whole = !build.Broken(problems)
	for _, o := range objects {
		fields, problem := o.Fields()
		if problem == nil {
			fields, problem = s.substituted(o, fields)
		}
		if problem != nil {
			r.problem(*problem)
			s.Whole = false
			continue
		}
		r.take(&Object{Object: o, Fields: fields, Sync: s})
	}
}

// problem notes one. What only does nothing is no reason to doubt the rest.
func (r *renderer) problem(p build.Problem) { r.cluster.Problems = append(r.cluster.Problems, p) }

// take adds an object, and follows where it leads.
func (r *renderer) take(o *Object) {
	if o.Stub {
		r.cluster.Flux = append(r.cluster.Flux, o)
		return
	}
	if o.Sync.Elsewhere {
		return
	}
	r.cluster.add(o)
	if o.Kind == "Deployment" && o.Namespace == fluxSystem {
		r.cluster.Flux = append(r.cluster.Flux, o)
	}
	switch o.GroupKind() {
	case kustomizationKind:
		r.sync(o)
	case tenantKind:
		r.tenant(o)
	default:
		if o.Group == "source.toolkit.fluxcd.io" {
			key := sourceKey{o.Kind, o.Namespace, o.Name}
			if r.sources[key] == nil {
				r.sources[key] = o
			}
		}
	}
}

// sync takes a Kustomization up.
func (r *renderer) sync(o *Object) {
	s := &Sync{Object: o, ID: o.ID, AllVars: true}
	if !decode(o.Fields["spec"], &s.Spec) {
		return // what is wrong with it, its schema tells
	}
	if s.ID.Namespace == fluxSystem && s.ID.Name == fluxSystem {
		root := r.cluster.Syncs[0] // it syncs what is being read
		root.Object, root.Spec = o, s.Spec
		return
	}
	if s.Spec.ServiceAccountName != "" {
		s.Account = account(s.ID.Namespace, s.Spec.ServiceAccountName)
	}
	s.Tenant = r.homes[s.ID.Namespace]
	if s.Tenant == nil && o.Sync != nil && !o.Compiled {
		s.Tenant = o.Sync.Tenant
	}
	s.Elsewhere = s.Spec.KubeConfig != nil
	r.cluster.Syncs = append(r.cluster.Syncs, s)
	if !r.begin(s, false) {
		r.waiting = append(r.waiting, s)
	}
}

// begin renders a sync whose source and variables are there, or whose source is when it
// is not to wait any longer. It tells whether there is nothing more to wait for.
func (r *renderer) begin(s *Sync, atOnce bool) bool {
	if !r.locate(s) || !atOnce && !r.known(s) {
		return false
	}
	if key := (doneKey{s.Builder, s.ID}); !r.done[key] {
		r.done[key] = true
		r.render(s)
	}
	return true
}

// known tells whether all that a sync takes its variables from was seen.
func (r *renderer) known(s *Sync) bool {
	if s.Spec.PostBuild == nil {
		return true
	}
	return !slices.ContainsFunc(s.Spec.PostBuild.SubstituteFrom, func(ref kustomizev1.SubstituteReference) bool {
		return r.cluster.Get(build.ID{GroupVersionKind: corev1.SchemeGroupVersion.WithKind(ref.Kind), Namespace: s.ID.Namespace, Name: ref.Name}) == nil
	})
}

func account(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

// decode makes a type of what an object has, and tells whether that is one.
func decode(v any, into any) bool {
	content, err := json.Marshal(v)
	return err == nil && json.Unmarshal(content, into) == nil
}

// tenant compiles a Tenant, if anything of it can be followed.
func (r *renderer) tenant(o *Object) {
	t := &Tenant{Object: o, Tenant: &v1alpha1.Tenant{}}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Fields, t.Tenant) != nil {
		return // what is wrong with it, its schema tells
	}
	r.cluster.Tenants = append(r.cluster.Tenants, t)
	for _, ns := range append([]string{o.Name}, t.Tenant.Spec.Namespaces.Declared...) {
		if r.homes[ns] == nil {
			r.homes[ns] = t
		}
	}
	if !r.fleet.Whole && !r.atHand(t.Tenant) {
		return
	}
	plan := compile.Tenant(t.Tenant, compile.Facts{Now: r.fleet.Now})
	t.Plan = &plan
	for _, c := range plan.Objects() {
		made := &Object{Object: build.Made(o.Object, c.Object), Fields: c.Object, Sync: o.Sync, Compiled: true}
		made.within = within(t.Tenant, made)
		r.compiled[t] = append(r.compiled[t], made)
		r.take(made)
	}
}

// within is where a Tenant says what a source or Kustomization of it is made of.
func within(t *v1alpha1.Tenant, o *Object) []any {
	for i, s := range t.Spec.Syncs {
		if s.Name != o.Name || !strings.HasSuffix(o.Group, ".toolkit.fluxcd.io") {
			continue
		}
		at := []any{"spec", "syncs", i}
		switch o.Kind {
		case "GitRepository":
			return append(at, "source", "git")
		case "OCIRepository":
			return append(at, "source", "oci")
		case "Bucket":
			return append(at, "source", "bucket")
		}
		return at
	}
	return nil
}

// atHand tells whether any repository of a tenant is.
func (r *renderer) atHand(t *v1alpha1.Tenant) bool {
	for _, s := range t.Spec.Syncs {
		switch {
		case s.Source.Git != nil && r.fleet.at(s.Source.Git.URL) != nil, s.Source.OCI != nil && r.fleet.at(s.Source.OCI.URL) != nil:
			return true
		}
	}
	return false
}

// namespaces compiles tenants again that make namespaces in their repositories.
func (r *renderer) namespaces() {
	made := map[*Tenant][]compile.Namespace{}
	for _, o := range r.cluster.Objects {
		t := o.Tenant()
		if t == nil || t.Tenant.Spec.Namespaces.SelfService == nil {
			continue
		}
		name := o.Namespace // somebody of the tenant may have made it by hand
		if o.Kind == "Namespace" && o.Group == "" {
			name = o.Name
		}
		if strings.HasPrefix(name, t.Tenant.Name+"-") && r.homes[name] == nil {
			r.homes[name] = t
			made[t] = append(made[t], compile.Namespace{Name: name, Bound: true})
		}
	}
	for _, t := range r.cluster.Tenants {
		if made[t] == nil || t.Plan == nil {
			continue
		}
		had := map[build.ID]*Object{}
		for _, o := range r.compiled[t] {
			had[o.ID] = o
		}
		plan := compile.Tenant(t.Tenant, compile.Facts{Now: r.fleet.Now, Namespaces: made[t]})
		t.Plan = &plan
		for _, c := range plan.Objects() {
			if o := had[build.IDOf(c.Object)]; o != nil {
				o.Fields = c.Object
			} else {
				r.cluster.add(&Object{Object: build.Made(t.Object.Object, c.Object), Fields: c.Object, Sync: t.Object.Sync, Compiled: true})
			}
		}
	}
}

// provisioners are the bindings that let tenants make namespaces: one for several tenants.
func (r *renderer) provisioners() {
	shards := map[int][]*v1alpha1.Tenant{}
	first := map[int]*Tenant{}
	for _, t := range r.cluster.Tenants {
		if t.Plan == nil {
			continue
		}
		shard := compile.Shard(t.Tenant.Name)
		if first[shard] == nil {
			first[shard] = t
		}
		shards[shard] = append(shards[shard], t.Tenant)
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		if p := compile.Provisioners(shard, shards[shard]); p != nil {
			r.cluster.add(&Object{Object: build.Made(first[shard].Object.Object, p.Object), Fields: p.Object, Sync: first[shard].Object.Sync, Compiled: true})
		}
	}
}

// clean is a path within a repository, which no ".." leads out of.
func clean(p string) string { return path.Clean(strings.TrimPrefix(path.Clean("/"+p), "/")) }

// urlOf is where a source is fetched from.
func urlOf(fields map[string]any) string {
	if bucket := build.Text(fields, "spec", "bucketName"); bucket != "" {
		return build.Text(fields, "spec", "endpoint") + "/" + bucket
	}
	return build.Text(fields, "spec", "url")
}

// Normal is a URL as repositories are compared by it.
func Normal(url string) string {
	return strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
}
