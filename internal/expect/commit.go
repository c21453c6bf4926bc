// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"context"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/world"
)

// commit brings a change to a tenant's repository, waits for what Flux makes of it, and
// takes it back.
func (r *Runner) commit(ctx context.Context, e Expectation) (passed bool, seen string) {
	url, why := r.Repository(e.Commit)
	if why != "" {
		return false, why
	}
	before, err := r.conditions(ctx, e.Commit.Tenant)
	if err != nil {
		return false, err.Error()
	}
	files := map[string][]byte{}
	for name, content := range e.Commit.Files {
		files[name] = nil
		if content != nil {
			files[name] = []byte(*content)
		}
	}
	defer func() {
		// Also when the run was interrupted: it may be kept.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Patience)
		defer cancel()
		if err := r.repos.Lay(ctx, url, nil); err != nil && passed {
			passed, seen = false, "and then the commit could not be taken back: "+err.Error()
			return
		}
		r.settle(ctx, e.Commit.Tenant)
	}()
	if err := r.repos.Lay(ctx, url, files); err != nil {
		return false, err.Error()
	}
	deadline, ready := time.Now().Add(r.Patience), 0
	for pause(ctx) {
		var done bool
		done, passed, seen = r.outcome(ctx, e, before)
		if ready++; !done || !passed || e.Outcome != Ready {
			ready = 0
		}
		// What is Ready has to stay so: who acts on it comes to it a moment later.
		const twice = 2
		if done && (ready == 0 || ready == twice) || time.Now().After(deadline) {
			return passed, seen
		}
	}
	return false, "interrupted"
}

// Repository is the URL that a tenant syncs from, or why there is none.
func (r *Runner) Repository(c *Commit) (url, why string) {
	for _, t := range r.cast.Tenants {
		if t.Name != c.Tenant {
			continue
		}
		for _, s := range t.Spec.Syncs {
			switch {
			case c.Sync != "" && s.Name != c.Sync:
			case s.Source.Git != nil && t.Spec.Cordoned:
				return "", fmt.Sprintf("tenant %s is cordoned: its syncs are suspended", c.Tenant)
			case s.Source.Git != nil && s.Source.Git.Ref != nil && s.Source.Git.Ref.Branch == "":
				return "", fmt.Sprintf("sync %s of tenant %s follows no branch: a commit does not reach it", s.Name, c.Tenant)
			case s.Source.Git != nil:
				return s.Source.Git.URL, ""
			}
		}
		return "", fmt.Sprintf("tenant %s has no sync from Git%s", c.Tenant, map[bool]string{true: " called " + c.Sync}[c.Sync != ""])
	}
	return "", fmt.Sprintf("there is no tenant %s", c.Tenant)
}

// TenantOf is the tenant that alone syncs from a URL, or "" where it is nobody's or
// several's, or the platform's.
func (r *Runner) TenantOf(url string) string {
	of := ""
	for _, t := range r.cast.Tenants {
		for _, s := range t.Spec.Syncs {
			if s.Source.Git == nil || !world.SamePlace(s.Source.Git.URL, url) {
				continue
			}
			if of != "" && of != t.Name {
				return ""
			}
			of = t.Name
		}
	}
	return of
}

// conditions are what Flux says of a tenant's Kustomizations and HelmReleases.
func (r *Runner) conditions(ctx context.Context, tenant string) (map[string]metav1.Condition, error) {
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
	all := map[string]metav1.Condition{}
	note := func(kind string, o client.Object, conditions []metav1.Condition) {
		if !own[o.GetNamespace()] {
			return
		}
		ready := meta.FindStatusCondition(conditions, "Ready")
		if ready == nil || ready.ObservedGeneration < o.GetGeneration() {
			ready = &metav1.Condition{Status: metav1.ConditionUnknown, Message: "not looked at yet"}
		}
		all[kind+" "+o.GetNamespace()+"/"+o.GetName()] = *ready
	}
	for i := range kustomizations.Items {
		note("Kustomization", &kustomizations.Items[i], kustomizations.Items[i].Status.Conditions)
	}
	for i := range releases.Items {
		note("HelmRelease", &releases.Items[i], releases.Items[i].Status.Conditions)
	}
	return all, nil
}

// outcome says whether a commit has one, and what.
func (r *Runner) outcome(ctx context.Context, e Expectation, before map[string]metav1.Condition) (done, passed bool, seen string) {
	if behind := r.repos.Behind(ctx); behind != "" {
		return false, false, "Flux has not come to it: " + behind + " is behind"
	}
	now, err := r.conditions(ctx, e.Commit.Tenant)
	if err != nil {
		return false, false, err.Error()
	}
	waiting := ""
	for name, c := range now {
		switch old := before[name]; {
		case c.Status == metav1.ConditionUnknown:
			waiting = name + ": " + c.Message
		case c.Status == metav1.ConditionFalse && (old.Status != metav1.ConditionFalse || old.Message != c.Message):
			passed, seen = judge(e, c.Message)
			if !passed && (c.Reason == "DependencyNotReady" || c.Reason == "ArtifactFailed") {
				waiting = name + ": " + c.Message
				continue
			}
			return true, passed, name + " is " + seen
		}
	}
	if waiting != "" {
		return false, false, "not Ready yet: " + waiting
	}
	// Nothing is refused yet; what comes after may be.
	return e.Outcome == Ready, e.Outcome == Ready, "ready: Flux applied it"
}

// settle waits until a tenant is as it was, so that the next expectation finds it so.
func (r *Runner) settle(ctx context.Context, tenant string) {
	for pause(ctx) {
		now, err := r.conditions(ctx, tenant)
		if err != nil || r.repos.Behind(ctx) != "" {
			continue
		}
		busy := false
		for _, c := range now {
			busy = busy || c.Status == metav1.ConditionUnknown
		}
		if !busy {
			return
		}
	}
}
