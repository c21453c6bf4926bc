// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/internal/world"
)

// commit brings a change to a tenant's repository, waits for what Flux makes of it, and
// takes it back.
func (r *Runner) commit(ctx context.Context, e Expectation) (passed bool, seen string) {
	url, why := r.Repository(e.Commit)
	if why != "" {
		return false, why
	}
	before, err := r.states(ctx, e.Commit.Tenant)
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
		last := seen
		var how outcome
		how, passed, seen = r.outcome(ctx, e, url, before)
		if same++; how != lasting || seen != last {
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

// settle waits until the tenant of the last commit is as it was, so that the next
// expectation finds it so.
func (r *Runner) settle(ctx context.Context) {
	if r.moved == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	for pause(ctx) {
		now, err := r.states(ctx, r.moved)
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
