// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/chart"
	"github.com/tenantry/tenantry/internal/tree"
)

// release renders a HelmRelease, if its chart is at hand.
func (r *renderer) release(o *Object) {
	spec := helmv2.HelmReleaseSpec{}
	if !decode(o.Fields["spec"], &spec) || spec.KubeConfig != nil {
		return
	}
	rel := &Release{Object: o, Namespace: spec.TargetNamespace, Name: spec.ReleaseName}
	if rel.Namespace == "" {
		rel.Namespace = o.Namespace
	}
	if rel.Name == "" {
		rel.Name = named(spec.TargetNamespace, o.Name)
	}
	if spec.ServiceAccountName != "" {
		rel.Account = account(o.Namespace, spec.ServiceAccountName)
	}
	r.cluster.Releases = append(r.cluster.Releases, rel)
	values, lacks := r.values(o, &spec, rel)
	c, why := r.chartOf(o, &spec, rel)
	if why != "" || lacks != "" {
		rel.Why = cmp.Or(why, lacks)
		return
	}
	as := chart.Release{Name: rel.Name, Namespace: rel.Namespace, Values: values, Minor: r.fleet.Kinds.Minor, Served: r.served()}
	manifests, err := c.Render(as)
	var elsewhere *chart.Elsewhere
	if errors.As(err, &elsewhere) {
		rel.Why = err.Error()
		return
	}
	if err != nil {
		r.problem(build.Problem{Rule: "chart", Place: o.At(), What: fmt.Sprintf("chart %s can't be rendered: %s", rel.Chart, oneLine(err)), Mend: "mend the chart, or the values that it is given"})
		return
	}
	var again []chart.Manifest
	if c.Random() {
		if again, err = c.Render(as); err != nil {
			again = nil
		}
	}
	r.install(rel, manifests, again, spec.PostRenderers)
}

// served are the API versions that charts may ask for.
func (r *renderer) served() []string {
	r.fleet.once.Do(func() {
		versions := map[string]bool{}
		for _, k := range r.fleet.Kinds.Kinds() {
			versions[k.GroupVersion().String()] = true
			versions[k.GroupVersion().String()+"/"+k.Kind] = true
		}
		r.fleet.versions = slices.Sorted(maps.Keys(versions))
	})
	return r.fleet.versions
}

// chartOf finds the chart of a release, or says why there is none.
func (r *renderer) chartOf(o *Object, spec *helmv2.HelmReleaseSpec, rel *Release) (*chart.Chart, string) {
	var kind, name, within, version string
	namespace := o.Namespace
	switch {
	case spec.ChartRef != nil:
		kind, name = spec.ChartRef.Kind, spec.ChartRef.Name
		if spec.ChartRef.Namespace != "" {
			namespace = spec.ChartRef.Namespace
		}
	case spec.Chart != nil:
		ref := spec.Chart.Spec.SourceRef
		kind, name, within, version = ref.Kind, ref.Name, spec.Chart.Spec.Chart, spec.Chart.Spec.Version
		if ref.Namespace != "" {
			namespace = ref.Namespace
		}
	default:
		return nil, "it names no chart"
	}
	var b *build.Builder
	source := r.sources[sourceKey{kind, namespace, name}]
	switch {
	case kind == "GitRepository" && name == fluxSystem && namespace == fluxSystem:
		b = r.fleet.Root
	case source == nil:
		return nil, fmt.Sprintf("%s %s/%s is not in the fleet", kind, namespace, name)
	default:
		b = r.fleet.at(urlOf(source.Fields))
	}
	if b == nil {
		return nil, fmt.Sprintf("no directory stands in for %s", urlOf(source.Fields))
	}
	for _, candidate := range candidates(kind, within, version) {
		c, err := chart.Load(b.Tree(), candidate)
		if err == nil {
			rel.Chart = b.Tree().Full(candidate)
			return c, r.valuesFiles(o, spec, b.Tree(), c)
		}
		if !errors.Is(err, chart.ErrNone) && (b.Tree().IsFile(candidate) || b.Tree().IsFile(path.Join(candidate, "Chart.yaml"))) {
			r.problem(build.Problem{Rule: "chart", Place: o.At(), What: fmt.Sprintf("chart %s can't be read: %s", candidate, oneLine(err))})
			return nil, "its chart can't be read"
		}
	}
	if kind == "GitRepository" || kind == "Bucket" {
		r.problem(build.Problem{
			Rule: "path-missing", Place: o.Place("spec", "chart", "spec", "chart"),
			What: fmt.Sprintf("chart %s is not in %s", within, b.Tree().Dir), Mend: "name a directory with a Chart.yaml",
		})
	}
	return nil, fmt.Sprintf("chart %s is not in %s", within, b.Tree().Dir)
}

// valuesFiles puts the files that a release names in the place of the chart's values, as
// source-controller does when it packages a chart.
func (r *renderer) valuesFiles(o *Object, spec *helmv2.HelmReleaseSpec, t *tree.Tree, c *chart.Chart) string {
	if spec.Chart == nil || len(spec.Chart.Spec.ValuesFiles) == 0 {
		return ""
	}
	all := map[string]any{}
	for i, name := range spec.Chart.Spec.ValuesFiles {
		content, err := t.Read(strings.TrimPrefix(path.Clean("/"+name), "/"))
		more := map[string]any{}
		if err == nil {
			err = yaml.Unmarshal(content, &more)
		} else if spec.Chart.Spec.IgnoreMissingValuesFiles {
			continue
		}
		if err != nil {
			r.problem(build.Problem{Rule: "path-missing", Place: o.Place("spec", "chart", "spec", "valuesFiles", i), What: fmt.Sprintf("values file %s can't be read in %s", name, t.Dir), Mend: "name a file of the source"})
			return "its values files can't be read"
		}
		all = chart.Merge(all, more)
	}
	c.Replace(all)
	return ""
}

// candidates are where a chart may lie in what stands in for a source.
func candidates(kind, within, version string) []string {
	switch kind {
	case "GitRepository", "Bucket":
		return []string{clean(within)}
	case "HelmRepository":
		within = clean(within)
		return []string{within, within + "-" + strings.TrimPrefix(version, "v") + ".tgz", within + ".tgz"}
	default: // an OCIRepository is a chart
		return []string{"."}
	}
}

// values are those of a release, laid over each other as helm-controller does.
func (r *renderer) values(o *Object, spec *helmv2.HelmReleaseSpec, rel *Release) (map[string]any, string) {
	all := map[string]any{}
	for i, ref := range spec.ValuesFrom {
		from := r.cluster.Get(build.ID{GroupVersionKind: corev1.SchemeGroupVersion.WithKind(ref.Kind), Namespace: o.Namespace, Name: ref.Name})
		if from == nil {
			if ref.Optional {
				continue
			}
			r.problem(build.Problem{
				Rule: "dangling-values", Place: o.Place("spec", "valuesFrom", i, "name"),
				What: fmt.Sprintf("%s %s/%s, which values come from, is not in the fleet", ref.Kind, o.Namespace, ref.Name),
				Mend: "add it, or say optional: true when something else makes it",
			})
			return nil, fmt.Sprintf("%s %s is not in the fleet", ref.Kind, ref.Name)
		}
		key := ref.ValuesKey
		if key == "" {
			key = "values.yaml"
		}
		text, there := raw(from.Fields, key)
		switch {
		case !there && ref.Optional:
		case !there:
			r.problem(build.Problem{Rule: "dangling-values", Place: o.Place("spec", "valuesFrom", i), What: fmt.Sprintf("%s %s/%s has no key %s", ref.Kind, o.Namespace, ref.Name, key), Mend: "name a key that it has in valuesKey"})
			return nil, fmt.Sprintf("%s %s has no key %s", ref.Kind, ref.Name, key)
		case ref.TargetPath != "":
			if err := chart.Set(all, ref.TargetPath, strings.TrimSuffix(text, "\n")); err != nil {
				return nil, fmt.Sprintf("targetPath %s: %v", ref.TargetPath, err)
			}
		case text == hidden:
			return nil, fmt.Sprintf("values in %s %s are encrypted", ref.Kind, ref.Name)
		default:
			more := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &more); err != nil {
				r.problem(build.Problem{Rule: "chart", Place: from.At(), What: fmt.Sprintf("values in %s are no YAML: %s", key, oneLine(err))})
				return nil, "its values can't be read"
			}
			all = chart.Merge(all, more)
		}
		if ref.Kind == "Secret" && there {
			rel.Secrets = append(rel.Secrets, leaves(text)...)
		}
	}
	if spec.Values != nil {
		own := map[string]any{}
		if err := json.Unmarshal(spec.Values.Raw, &own); err == nil {
			all = chart.Merge(all, own)
		}
	}
	return all, ""
}

// leaves are the texts in values, long enough to be told from others.
func leaves(text string) []string {
	const least = 4
	var v any
	if yaml.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	var all []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, sub := range v {
				walk(sub)
			}
		case []any:
			for _, sub := range v {
				walk(sub)
			}
		case string:
			if len(v) >= least {
				all = append(all, v)
			}
		}
	}
	walk(v)
	slices.Sort(all)
	return all
}

// raw is what a ConfigMap or Secret has under a key, lines and all.
func raw(fields map[string]any, key string) (string, bool) {
	if v, ok := build.Value(fields, "stringData", key).(string); ok {
		return v, true
	}
	v, ok := build.Value(fields, "data", key).(string)
	if ok && fields["kind"] == "Secret" {
		return valuesOf(fields)[key], true
	}
	return v, ok
}

// objectsOf are the objects in what templates render.
func objectsOf(rel *Release, manifests []chart.Manifest) ([]map[string]any, *build.Problem) {
	var all []map[string]any
	for _, m := range manifests {
		documents, err := tree.Parse(m.Name, []byte(m.Content))
		if err != nil {
			return nil, &build.Problem{Rule: "chart", Place: rel.Object.At(), What: fmt.Sprintf("template %s of chart %s renders to no YAML: %s", m.Name, rel.Chart, oneLine(err)), Mend: "mend the template, or the values that it is given"}
		}
		for _, d := range tree.Flattened(documents) {
			content, err := tree.ToJSON(d)
			fields := map[string]any{}
			if err == nil && json.Unmarshal(content, &fields) == nil && fields["kind"] != nil {
				all = append(all, fields)
			}
		}
	}
	return all, nil
}

// chance stands for what a chart makes up anew each time.
const chance = "(random)"

// steady is what two renderings have in common.
func steady(a, b any) any {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return chance
		}
		out := map[string]any{}
		for k, v := range x {
			if k == "data" && x["kind"] == "Secret" && !reflect.DeepEqual(v, y[k]) {
				out[k] = map[string]any{} // base64 of anything
				continue
			}
			out[k] = steady(v, y[k])
		}
		return out
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return chance
		}
		out := make([]any, len(x))
		for i := range x {
			out[i] = steady(x[i], y[i])
		}
		return out
	default:
		if reflect.DeepEqual(a, b) {
			return a
		}
		return chance
	}
}

// install adds what a release's chart rendered.
func (r *renderer) install(rel *Release, manifests, again []chart.Manifest, post []helmv2.PostRenderer) {
	var objects []*build.Object
	at := rel.Object.At()
	rendered, problem := objectsOf(rel, manifests)
	if problem != nil {
		r.problem(*problem)
		return
	}
	if second, problem := objectsOf(rel, again); problem == nil && len(second) == len(rendered) {
		for i := range rendered {
			rendered[i], _ = steady(rendered[i], second[i]).(map[string]any)
		}
	}
	for _, fields := range rendered {
		id := build.IDOf(fields)
		if k, ok := r.fleet.Kinds.Kind(id.GroupVersionKind); ok && k.Namespaced && id.Namespace == "" {
			fields = build.In(fields, rel.Namespace)
		}
		objects = append(objects, build.Made(rel.Object.Object, fields))
	}
	for _, p := range post {
		if p.Kustomize == nil {
			continue
		}
		var problem *build.Problem
		if objects, problem = build.Layer(objects, map[string]any{"patches": p.Kustomize.Patches, "images": p.Kustomize.Images}, at); problem != nil {
			r.problem(*problem)
			return
		}
	}
	for _, o := range objects {
		fields, _ := o.Fields() // it is made of them
		r.cluster.add(&Object{Object: o, Fields: fields, Sync: rel.Object.Sync, Release: rel})
	}
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
