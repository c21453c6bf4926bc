// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
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
	conditions, err := r.conditions(ctx, e.Commit.Tenant)
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
		}
		r.moved = e.Commit.Tenant
	}()
	if err := r.repos.Lay(ctx, url, files); err != nil {
		return false, err.Error()
	}
	deadline, same := time.Now().Add(r.Patience), 0
	for pause(ctx) {
		before := seen
		var how outcome
		how, passed, seen = r.outcome(ctx, e, url, conditions)
		if same++; how != lasting || seen != before {
			same = 0
		}
		// What acts on a commit comes to it a moment later.
		const often = 2
		if how == final || same == often || time.Now().After(deadline) {
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

// outcome is how a commit's stands.
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
func (r *Runner) outcome(ctx context.Context, e Expectation, url string, before map[string]metav1.Condition) (how outcome, passed bool, seen string) {
	if behind := r.repos.Behind(ctx); behind != "" {
		return open, false, "Flux has not come to it: " + behind + " is behind"
	}
	now, err := r.conditions(ctx, e.Commit.Tenant)
	if err != nil {
		return open, false, err.Error()
	}
	waiting := ""
	for _, name := range slices.Sorted(maps.Keys(now)) {
		c := now[name]
		switch {
		case c.Status == metav1.ConditionUnknown:
			waiting = name + ": " + c.Message
		case c.Status == metav1.ConditionFalse && !alike(before[name], c):
			passed, seen = judge(e, c.Message)
			if !passed && retried(c) {
				waiting = name + ": " + c.Message
				continue
			}
			return final, passed, name + " is " + seen
		}
	}
	if waiting != "" {
		return open, false, "not Ready yet: " + waiting
	}
	// Nothing new is refused. What could not be applied before the commit hides what it does.
	for _, name := range r.syncsOf(e.Commit.Tenant, url) {
		if c := now[name]; c.Status == metav1.ConditionFalse {
			return lasting, false, name + " is not Ready, as before the commit: " + c.Message
		}
	}
	return lasting, e.Outcome == Ready, "ready: Flux applied it"
}

// retried tells whether Flux will soon say something else by itself.
func retried(c metav1.Condition) bool {
	return c.Reason == "DependencyNotReady" || strings.HasSuffix(c.Reason, "Succeeded") || c.Reason == "ArtifactFailed" && !strings.Contains(c.Message, "path not found")
}

// alike tells whether two conditions say the same, but for times and names of directories.
func alike(a, b metav1.Condition) bool {
	return a.Status == b.Status && changing.ReplaceAllString(a.Message, "") == changing.ReplaceAllString(b.Message, "")
}

var changing = regexp.MustCompile(`[0-9]+`)

// syncsOf are a tenant's syncs from a URL, as conditions names them.
func (r *Runner) syncsOf(tenant, url string) []string {
	var all []string
	for _, t := range r.cast.Tenants {
		for _, s := range t.Spec.Syncs {
			if t.Name == tenant && s.Source.Git != nil && world.SamePlace(s.Source.Git.URL, url) {
				all = append(all, "Kustomization "+tenant+"/"+s.Name)
			}
		}
	}
	return all
}

// settle waits until the tenant of the last commit is as it was, so that the next
// expectation finds it so.
func (r *Runner) settle(ctx context.Context) {
	if r.moved == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	for pause(ctx) {
		now, err := r.conditions(ctx, r.moved)
		if err != nil || r.repos.Behind(ctx) != "" {
			continue
		}
		busy := false
		for _, c := range now {
			busy = busy || c.Status == metav1.ConditionUnknown
		}
		if !busy {
			break
		}
	}
	r.moved = ""
}
