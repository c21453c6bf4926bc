// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/world"
)

// state is what Flux says of a Kustomization or a HelmRelease.
type state struct {
	metav1.Condition
	// from is the source that it is applied from, as kind namespace/name.
	from string
	// expected says that its refusal is what it is there for.
	expected bool
}

// states are those of a tenant's, by kind namespace/name.
func (r *Runner) states(ctx context.Context, tenant string) (map[string]state, error) {
	own := map[string]bool{}
	for name, ns := range r.cast.Namespaces {
		if ns.Labels[v1alpha1.TenantLabel] == tenant {
			own[name] = true
		}
	}
	kustomizations, releases := &kustomizev1.KustomizationList{}, &helmv2.HelmReleaseList{}
	for _, l := range []client.ObjectList{kustomizations, releases} {
		if err := r.client.List(ctx, l); err != nil {
			return nil, err
		}
	}
	all := map[string]state{}
	note := func(kind string, o client.Object, conditions []metav1.Condition, sourceKind, sourceNamespace, source string) {
		if own[o.GetNamespace()] {
			all[kind+" "+o.GetNamespace()+"/"+o.GetName()] = state{
				Condition: readiness(conditions, o.GetGeneration()),
				from:      sourceKind + " " + cmp.Or(sourceNamespace, o.GetNamespace()) + "/" + source,
				expected:  o.GetAnnotations()[v1alpha1.ExpectAnnotation] == v1alpha1.ExpectRefused,
			}
		}
	}
	for i := range kustomizations.Items {
		k := &kustomizations.Items[i]
		ref := k.Spec.SourceRef
		note(kustomizev1.KustomizationKind, k, k.Status.Conditions, ref.Kind, ref.Namespace, ref.Name)
	}
	for i := range releases.Items {
		h := &releases.Items[i]
		ref := helmv2.CrossNamespaceObjectReference{}
		if h.Spec.Chart != nil {
			ref = h.Spec.Chart.Spec.SourceRef
		}
		note(helmv2.HelmReleaseKind, h, h.Status.Conditions, ref.Kind, ref.Namespace, ref.Name)
	}
	return all, nil
}

// readiness is the Ready condition of a generation. Of a release that was taken back and
// given up, it is why.
func readiness(conditions []metav1.Condition, generation int64) metav1.Condition {
	ready := meta.FindStatusCondition(conditions, "Ready")
	if ready == nil || ready.ObservedGeneration < generation {
		return metav1.Condition{Status: metav1.ConditionUnknown, Message: "not looked at yet"}
	}
	released := meta.FindStatusCondition(conditions, helmv2.ReleasedCondition)
	if takenBack(*ready) && meta.IsStatusConditionTrue(conditions, "Stalled") && released != nil {
		return *released
	}
	return *ready
}

// takenBack tells whether a release was rolled back or removed, which went well.
func takenBack(c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && strings.HasSuffix(c.Reason, "Succeeded")
}

// outcome is how far a commit's is known.
type outcome int

const (
	// open: Flux is not done with it.
	open outcome = iota
	// lasting: it is so if it stays so.
	lasting
	// final: it is so.
	final
)

// outcome says what became of a commit to a URL, and how things were before it.
func (r *Runner) outcome(ctx context.Context, e Expectation, url string, before map[string]state) (how outcome, passed bool, seen string) {
	if behind := r.repos.Behind(ctx); behind != "" {
		return open, false, "Flux has not come to it: " + behind + " is behind"
	}
	now, err := r.states(ctx, e.Commit.Tenant)
	if err != nil {
		return open, false, err.Error()
	}
	waiting, names := "", slices.Sorted(maps.Keys(now))
	for _, name := range names {
		s := now[name]
		switch {
		case s.Status == metav1.ConditionUnknown:
			waiting = name + ": " + s.Message
		case s.Status == metav1.ConditionFalse && !alike(before[name], s):
			passed, seen = judge(e, s.Message)
			if !passed && passing(s.Condition) {
				waiting = name + ": " + s.Message
				continue
			}
			return final, passed, name + " is " + seen
		}
	}
	if waiting != "" {
		return open, false, "not Ready yet: " + waiting
	}
	// Nothing new is refused. What could not be applied before the commit hides what it does.
	touched := r.sourcesOf(e.Commit, url)
	for _, name := range names {
		if s := now[name]; s.Status == metav1.ConditionFalse && !s.expected && slices.Contains(touched, s.from) {
			return lasting, false, name + " is not Ready, as before the commit: " + s.Message
		}
	}
	return lasting, e.Outcome == Ready, "ready: Flux applied it"
}

// passing tells whether Flux will soon say something else by itself.
func passing(c metav1.Condition) bool {
	switch c.Reason {
	case "DependencyNotReady", "SourceNotReady", "HealthCheckCanceled":
		return true
	case "ArtifactFailed":
		return !strings.Contains(c.Message, "path not found")
	default:
		return takenBack(c)
	}
}

// alike tells whether two say the same, but for times and names of directories.
func alike(a, b state) bool {
	return a.Status == b.Status && changing.ReplaceAllString(a.Message, "") == changing.ReplaceAllString(b.Message, "")
}

var changing = regexp.MustCompile(`[0-9]+`)

// sourcesOf are those of a tenant's syncs that a commit to a URL comes by, as state.from
// names them.
func (r *Runner) sourcesOf(c *Commit, url string) []string {
	var all []string
	for _, t := range r.cast.Tenants {
		for _, s := range t.Spec.Syncs {
			if t.Name == c.Tenant && (c.Sync == "" || c.Sync == s.Name) && s.Source.Git != nil && world.SamePlace(s.Source.Git.URL, url) {
				all = append(all, sourcev1.GitRepositoryKind+" "+t.Name+"/"+s.Name)
			}
		}
	}
	return all
}
