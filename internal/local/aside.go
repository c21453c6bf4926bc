// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
)

// Aside is something of a fleet that a local cluster does not run as the real one would.
type Aside struct {
	// What it is: a webhook, an operator's objects, credentials.
	What string `json:"what"`
	// Object that it is about.
	Object string `json:"object"`
	// Why it is otherwise here, and what that means.
	Why string `json:"why"`
}

func (c *Cluster) note(a Aside) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.asides, a) {
		c.asides = append(c.asides, a)
	}
}

// Asides are what is otherwise here than on a real cluster, as far as it is known now.
func (c *Cluster) Asides(ctx context.Context) ([]Aside, error) {
	c.mu.Lock()
	all := slices.Clone(c.asides)
	c.mu.Unlock()
	for _, file := range c.stubs.files() {
		all = append(all, Aside{"encrypted", file, "no key that was given opens it: words stand in for its values; give the key with --decryption-key"})
	}
	for _, tag := range c.world.StandsIn() {
		all = append(all, Aside{"tag", tag, "the history of its directory has no such tag: the directory as it is stands in for it"})
	}
	// What CRDs there are has changed since the client began.
	cfg, err := c.Admin()
	if err != nil {
		return nil, err
	}
	live, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return nil, err
	}
	for _, look := range []func(context.Context, client.Client) ([]Aside, error){webhookAsides, operatorAsides, serverAsides, podAsides, fluxAsides} {
		more, err := look(ctx, live)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// webhookAsides are webhooks that nobody is here to answer.
func webhookAsides(ctx context.Context, c client.Client) ([]Aside, error) {
	validating, mutating := &admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{}
	for _, l := range []client.ObjectList{validating, mutating} {
		if err := c.List(ctx, l); err != nil {
			return nil, err
		}
	}
	var all []Aside
	tell := func(object string, names []string, so string) {
		all = append(all, Aside{"webhook", object, "what answers it is not run here, so the API server does not ask " + strings.Join(names, ", ") + ": " + so})
	}
	for _, w := range validating.Items {
		var names []string
		for _, h := range w.Webhooks {
			names = append(names, h.Name)
		}
		tell("ValidatingWebhookConfiguration "+w.Name, names, "what it would refuse is let through")
	}
	for _, w := range mutating.Items {
		var names []string
		for _, h := range w.Webhooks {
			names = append(names, h.Name)
		}
		tell("MutatingWebhookConfiguration "+w.Name, names, "what it would change stays as it is")
	}
	return all, nil
}

// run are the groups of custom resources whose controllers run here.
var run = []string{
	v1alpha1.GroupVersion.Group, "source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io",
}

// operatorAsides are objects that nothing acts on here.
func operatorAsides(ctx context.Context, c client.Client) ([]Aside, error) {
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.List(ctx, crds); err != nil {
		return nil, err
	}
	var all []Aside
	for _, crd := range crds.Items {
		if slices.Contains(run, crd.Spec.Group) {
			continue
		}
		stored := ""
		for _, v := range crd.Spec.Versions {
			if v.Storage {
				stored = v.Name
			}
		}
		if conversion := crd.Spec.Conversion; conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter && len(crd.Spec.Versions) > 1 {
			all = append(all, Aside{"conversion", "CustomResourceDefinition " + crd.Name, "the webhook that converts its versions is not run here: only " + stored + " can be written and read"})
		}
		n, err := countObjects(ctx, c, schema.GroupVersionKind{Group: crd.Spec.Group, Version: stored, Kind: crd.Spec.Names.Kind})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			all = append(all, Aside{"operator", fmt.Sprintf("%d of kind %s (%s)", n, crd.Spec.Names.Kind, crd.Spec.Group), "their operator is not run here: they are stored, and nothing acts on them"})
		}
	}
	return all, nil
}

func countObjects(ctx context.Context, c client.Client, kind schema.GroupVersionKind) (int, error) {
	kind.Kind += "List"
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := c.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return 0, nil // it is on its way out
		}
		return 0, err
	}
	return len(list.Items), nil
}

// serverAsides are APIs that others would serve.
func serverAsides(ctx context.Context, c client.Client) ([]Aside, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIServiceList"})
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	var all []Aside
	for _, o := range list.Items {
		if service, _, _ := unstructured.NestedMap(o.Object, "spec", "service"); service != nil {
			all = append(all, Aside{"API", "APIService " + o.GetName(), "what serves it is not run here: requests for it fail"})
		}
	}
	return all, nil
}

// podAsides say of Pods what they are here.
func podAsides(ctx context.Context, c client.Client) ([]Aside, error) {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := c.List(ctx, pods); err != nil || len(pods.Items) == 0 {
		return nil, err
	}
	return []Aside{{"images", fmt.Sprintf("%d Pods", len(pods.Items)), "no image is fetched or run: a Pod becomes Ready once it is scheduled, and nothing in it answers"}}, nil
}

// fluxAsides tell of a Flux that is of another version than what runs here.
func fluxAsides(ctx context.Context, c client.Client) ([]Aside, error) {
	deployments := &appsv1.DeploymentList{}
	if err := c.List(ctx, deployments, client.InNamespace(FluxNamespace)); err != nil {
		return nil, err
	}
	here := fluxVersions()
	var all []Aside
	for _, d := range deployments.Items {
		version, known := here[d.Name]
		for _, container := range d.Spec.Template.Spec.Containers {
			_, tag, _ := strings.Cut(container.Image[strings.LastIndex(container.Image, "/")+1:], ":")
			tag, _, _ = strings.Cut(tag, "@")
			if known && tag != "" && tag != version {
				all = append(all, Aside{"Flux", "Deployment " + d.Namespace + "/" + d.Name, fmt.Sprintf("the fleet has %s; %s runs here", tag, version)})
			}
		}
		if !known {
			all = append(all, Aside{"Flux", "Deployment " + d.Namespace + "/" + d.Name, "it is not run here: nothing acts on its objects"})
		}
	}
	return all, nil
}

var fluxModule = regexp.MustCompile(`(?m)^\s*(?:require )?github\.com/fluxcd/([a-z]+-controller) (v\S+)`)

// fluxVersions are those of the controllers that run here, by their names.
func fluxVersions() map[string]string {
	all := map[string]string{}
	for _, f := range helperFiles() {
		if f.Name != "flux/go.mod" {
			continue
		}
		for _, m := range fluxModule.FindAllSubmatch(f.Data, -1) {
			all[string(m[1])] = string(m[2])
		}
	}
	return all
}
