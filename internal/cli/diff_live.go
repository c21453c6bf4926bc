// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/admit"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/diff"
	"github.com/tenantry/tenantry/internal/fleet"
	"github.com/tenantry/tenantry/internal/rehearse"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/words"
)

// refusal is an object that a cluster would not take.
type refusal struct {
	Cluster string `json:"cluster"`
	Object  string `json:"object"`
	As      string `json:"as,omitempty"`
	From    string `json:"from"`
	Message string `json:"message"`
}

// liveDiff is what clusters say, for programs.
type liveDiff struct {
	diff.Diff
	Refused []refusal `json:"refused"`
}

// runLive compares the working tree with the clusters.
func (o *diffOptions) runLive(ctx context.Context, s Streams, dir string) error {
	clusters, err := o.source.render(dir, o.clusters)
	if err != nil {
		return err
	}
	configs, err := o.configs(dir, clusters)
	if err != nil {
		return err
	}
	before, after := map[string][]diff.Object{}, map[string][]diff.Object{}
	out := liveDiff{Refused: []refusal{}}
	for _, c := range clusters {
		refused, err := o.rehearse(ctx, s, c, configs[c.Name], before, after)
		if err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
		out.Refused = append(out.Refused, refused...)
	}
	out.Diff = diff.Compare(before, after)
	switch o.output {
	case "json", "yaml":
		err = printAs(s.Out, o.output, out)
	default:
		err = printDiff(s, o.output, out.Diff, "on the clusters")
		for _, r := range out.Refused {
			as := ""
			if r.As != "" {
				as = " as " + r.As
			}
			s.say("%s: error: cluster %s refuses %s%s: %s", r.From, r.Cluster, r.Object, as, r.Message)
		}
	}
	if err != nil {
		return err
	}
	if err := tellGaps(s, clusters); err != nil {
		return err
	}
	if len(out.Refused) > 0 {
		return fmt.Errorf("%s would be refused", words.Count(len(out.Refused), "object"))
	}
	if o.exitCode && !out.Empty() {
		return errQuiet
	}
	return nil
}

// configs are how to reach the clusters: the one context that is named for the one
// cluster, or those of tenantry.yaml.
func (o *diffOptions) configs(dir string, clusters []*render.Cluster) (map[string]*rest.Config, error) {
	all := map[string]*rest.Config{}
	if *o.kube.Context != "" || *o.kube.KubeConfig != "" {
		if len(clusters) != 1 {
			return nil, usagef("a context is one cluster: name which of the fleet's it is with --cluster")
		}
		cfg, err := o.kube.config()
		all[clusters[0].Name] = cfg
		return all, err
	}
	config, err := fleet.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	across := acrossFlags{kube: o.kube}
	for _, c := range clusters {
		asked := across.cluster(c.Name, config.Contexts[c.Name])
		if asked.Err != nil {
			return nil, fmt.Errorf("cluster %s: %w; or name one with --cluster and --context", c.Name, asked.Err)
		}
		all[c.Name] = asked.Config
	}
	return all, nil
}

// rehearse asks one cluster.
func (o *diffOptions) rehearse(ctx context.Context, s Streams, c *render.Cluster, cfg *rest.Config, before, after map[string][]diff.Object) ([]refusal, error) {
	cluster, err := rehearse.New(cfg)
	if err != nil {
		return nil, err
	}
	objects, tries := o.tries(c)
	bar := newCounter(s.Err)
	defer bar.end()
	bar.begin(len(tries), "object")
	outcomes, err := cluster.Run(ctx, tries, func() { bar.add("cluster " + c.Name) })
	if err != nil {
		return nil, err
	}
	bar.end()
	before[c.Name], after[c.Name] = []diff.Object{}, []diff.Object{}
	var refused []refusal
	for i, f := range objects {
		out := outcomes[i]
		d := diff.Object{Key: diff.Key{Group: f.Group, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name}, Tenant: f.Tenant, From: f.From.String(), Hidden: f.Hidden}
		if out.Refused != "" {
			refused = append(refused, refusal{Cluster: c.Name, Object: f.String(), As: f.Account, From: d.From, Message: out.Refused})
			out.After = out.Before // nothing changes
		}
		if out.Before != nil {
			d.Fields = out.Before
			before[c.Name] = append(before[c.Name], d)
		}
		if out.After != nil {
			d.Fields = out.After
			after[c.Name] = append(after[c.Name], d)
		}
	}
	gone, err := o.gone(ctx, cluster, c)
	before[c.Name] = append(before[c.Name], gone...)
	return refused, err
}

// tries are the objects of a cluster, as they will be applied. What a release installs is
// left out where Helm would not apply it.
func (o *diffOptions) tries(c *render.Cluster) ([]render.Final, []rehearse.Try) {
	var objects []render.Final
	var tries []rehearse.Try
	declared := map[build.ID]map[string]any{}
	for _, obj := range c.Objects {
		if !obj.Compiled {
			declared[obj.ID] = obj.Fields
		}
	}
	for _, f := range c.Final() {
		if o.tenant != "" && f.Tenant != o.tenant || f.ToBeRefused || f.Fields["sops"] != nil { // Flux alone can decrypt
			continue
		}
		t := rehearse.Try{Object: f.Fields, Manager: "kustomize-controller"}
		switch own := declared[f.ID]; {
		case f.Compiled && own == nil:
			t.Manager = v1alpha1.FieldManager
		case f.Compiled:
			t.Object = own // the controller completes it afterwards
		}
		if t.Manager != v1alpha1.FieldManager {
			t = marked(t, f)
		}
		if f.Account != "" {
			namespace, name, _ := strings.Cut(strings.TrimPrefix(f.Account, "system:serviceaccount:"), ":")
			if namespace != "flux-system" { // Flux's own, with every right, is whoever asks
				t.User, t.Groups = admit.Account(namespace, name)
			}
		}
		objects, tries = append(objects, f), append(tries, t)
	}
	return objects, tries
}

// marked is an object as Flux's controllers apply it, with their own labels.
func marked(t rehearse.Try, f render.Final) rehearse.Try {
	o := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(t.Object)}
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	if f.Release == nil {
		namespace, name, _ := strings.Cut(f.Sync, "/")
		labels["kustomize.toolkit.fluxcd.io/name"], labels["kustomize.toolkit.fluxcd.io/namespace"] = name, namespace
	} else {
		t.Manager = "helm-controller"
		labels["helm.toolkit.fluxcd.io/name"], labels["helm.toolkit.fluxcd.io/namespace"] = f.Release.Object.Name, f.Release.Object.Namespace
		labels["app.kubernetes.io/managed-by"] = "Helm"
		annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"] = f.Release.Name, f.Release.Namespace
		o.SetAnnotations(annotations)
	}
	o.SetLabels(labels)
	t.Object = o.Object
	return t
}

// gone are the objects that Flux would remove: applied once, and no longer in Git.
func (o *diffOptions) gone(ctx context.Context, cluster *rehearse.Cluster, c *render.Cluster) ([]diff.Object, error) {
	inventory, err := cluster.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	there := map[rehearse.Entry]bool{}
	for _, obj := range c.Objects {
		there[rehearse.Entry{Group: obj.Group, Kind: obj.Kind, Namespace: obj.Namespace, Name: obj.Name}] = true
	}
	var all []diff.Object
	for _, s := range c.Syncs {
		if !s.Whole || s.Elsewhere || o.tenant != "" && (s.Tenant == nil || s.Tenant.Tenant.Name != o.tenant) {
			continue // what is not known is not gone
		}
		of := ""
		if s.Tenant != nil {
			of = s.Tenant.Tenant.Name
		}
		for _, e := range inventory[s.ID.Namespace+"/"+s.ID.Name] {
			if !there[e] {
				all = append(all, diff.Object{Key: diff.Key(e), Tenant: of, Fields: map[string]any{"kind": e.Kind}, From: "Kustomization " + s.ID.Namespace + "/" + s.ID.Name})
			}
		}
	}
	return all, nil
}
