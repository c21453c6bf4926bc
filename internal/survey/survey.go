// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
)

// Cluster is one to be asked.
type Cluster struct {
	// Name for people: the fleet's, or that of a kubeconfig's context.
	Name string
	// Config to reach it.
	Config *rest.Config
	// Err is why it can't even be asked.
	Err error
}

// Do runs a function against every cluster at once. Each has so much time; what it
// returned is in the order of the clusters.
func Do[T any](ctx context.Context, clusters []Cluster, timeout time.Duration, do func(context.Context, client.WithWatch) (T, error)) ([]T, []error) {
	results, errs := make([]T, len(clusters)), make([]error, len(clusters))
	var all sync.WaitGroup
	for i, c := range clusters {
		all.Go(func() { results[i], errs[i] = one(ctx, c, timeout, do) })
	}
	all.Wait()
	return results, errs
}

// grace is for what has to tell how far it came.
const grace = 250 * time.Millisecond

func one[T any](ctx context.Context, c Cluster, timeout time.Duration, do func(context.Context, client.WithWatch) (T, error)) (result T, err error) {
	if c.Err != nil {
		return result, c.Err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	// What has an answer when its time is over may still give it.
	patience, give := context.WithTimeoutCause(context.WithoutCancel(ctx), timeout+grace, context.DeadlineExceeded)
	defer give()
	type answer struct {
		result T
		err    error
	}
	answered := make(chan answer, 1)
	go func() { // discovery heeds no context, so the answer may come too late for anybody
		cfg := kube.Unthrottled(c.Config)
		cfg.Timeout = timeout + time.Second // so that ours comes first, and says what it is
		cl, err := kube.NewClient(cfg)
		if err != nil {
			answered <- answer{err: err}
			return
		}
		result, err := do(ctx, cl)
		answered <- answer{result, err}
	}()
	select {
	case a := <-answered:
		if a.err != nil && ctx.Err() != nil {
			return a.result, context.Cause(ctx)
		}
		return a.result, a.err
	case <-patience.Done():
		return result, context.Cause(ctx)
	}
}

// Query says what is asked for.
type Query struct {
	// Kinds to read.
	Kinds []Kind
	// Tenant and Namespace narrow it; "" is all.
	Tenant, Namespace string
	// Name of the object; "" is all.
	Name string
	// Timeout for each cluster.
	Timeout time.Duration
	// Expected are the tenants that each cluster should have, by the cluster's name; nil
	// when nobody knows, and then a tenant is expected wherever another cluster has it.
	Expected map[string][]string
}

// Answer is what a cluster said, or why it said nothing.
type Answer struct {
	Cluster string `json:"cluster"`
	Error   string `json:"error,omitempty"`
}

// Result is the answers of all clusters.
type Result struct {
	Clusters []Answer `json:"clusters"`
	Rows     []Row    `json:"rows"`
}

// Answered tells whether every cluster did.
func (r Result) Answered() bool {
	return !slices.ContainsFunc(r.Clusters, func(a Answer) bool { return a.Error != "" })
}

// Ask asks every cluster, and marks what differs between them.
func Ask(ctx context.Context, clusters []Cluster, q Query) Result {
	rows, errs := Do(ctx, clusters, q.Timeout, func(ctx context.Context, c client.WithWatch) ([]Row, error) { return read(ctx, c, q) })
	result := Result{Clusters: []Answer{}, Rows: []Row{}}
	var answered []string
	for i, c := range clusters {
		a := Answer{Cluster: c.Name}
		if errs[i] != nil {
			a.Error = reason(errs[i])
		} else {
			answered = append(answered, c.Name)
		}
		for _, r := range rows[i] {
			r.Cluster = c.Name
			if r.Kind == Tenant && q.Expected != nil && !slices.Contains(q.Expected[c.Name], r.Tenant) {
				r.Differs = []string{"not in the fleet"}
			}
			result.Rows = append(result.Rows, r)
		}
		result.Clusters = append(result.Clusters, a)
	}
	if slices.Contains(q.Kinds, Tenant) {
		result.Rows = append(result.Rows, absent(result.Rows, answered, q)...)
	}
	result.Rows = compare(result.Rows, answered)
	return result
}

// reason is an error without what it was that was asked: the cluster matters.
func reason(err error) string {
	inner := err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	if text := inner.Error(); text != "" && !strings.Contains(err.Error(), "orbidden") {
		return text
	}
	return err.Error()
}

// absent are rows for tenants that a cluster should have and has not.
func absent(rows []Row, clusters []string, q Query) []Row {
	has := map[string]bool{}
	var everywhere []string
	for _, r := range rows {
		if r.Kind == Tenant {
			has[r.Cluster+"/"+r.Tenant] = true
			everywhere = append(everywhere, r.Tenant)
		}
	}
	slices.Sort(everywhere)
	everywhere = slices.Compact(everywhere)
	var all []Row
	for _, c := range clusters {
		expected := everywhere
		if q.Expected != nil {
			expected = q.Expected[c]
		}
		for _, t := range expected {
			if !has[c+"/"+t] && (q.Tenant == "" || q.Tenant == t) && (q.Name == "" || q.Name == t) {
				all = append(all, Row{Kind: Tenant, Tenant: t, Name: t, Cluster: c, Ready: Absent, Differs: []string{"absent"}})
			}
		}
	}
	return all
}

// compare sorts rows so that one thing stands together, and marks what differs: what is
// other, and what is not on every cluster that has the tenant.
func compare(rows []Row, clusters []string) []Row {
	has := map[string]map[string]bool{} // clusters by tenant
	for _, r := range rows {
		if has[r.Tenant] == nil {
			has[r.Tenant] = map[string]bool{}
		}
		has[r.Tenant][r.Cluster] = has[r.Tenant][r.Cluster] || r.Ready != Absent
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.key(), b.key()), cmp.Compare(slices.Index(clusters, a.Cluster), slices.Index(clusters, b.Cluster)))
	})
	for start := 0; start < len(rows); {
		end := start
		var same []*Row
		for ; end < len(rows) && rows[end].key() == rows[start].key(); end++ {
			if rows[end].Ready != Absent {
				same = append(same, &rows[end])
			}
		}
		start = end
		if len(same) == 0 {
			continue
		}
		differs := differences(same)
		for _, c := range clusters {
			if has[same[0].Tenant][c] && !slices.ContainsFunc(same, func(r *Row) bool { return r.Cluster == c }) {
				differs = append(differs, "not on "+c)
			}
		}
		for _, r := range same {
			r.Differs = append(r.Differs, differs...)
		}
	}
	return rows
}

// differences are the fields in which rows of one thing differ.
func differences(rows []*Row) []string {
	var all []string
	for _, f := range compared {
		for _, r := range rows[1:] {
			if f.of(*r) != f.of(*rows[0]) {
				all = append(all, f.name)
				break
			}
		}
	}
	return all
}
