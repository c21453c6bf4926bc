// SPDX-License-Identifier: Apache-2.0

// Package rehearse asks a cluster what it would make of objects, by server-side dry run
// as the identities that will apply them. It changes nothing.
package rehearse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/kube"
)

// Try is an object that somebody will apply.
type Try struct {
	Object map[string]any
	// User and Groups that apply it; "" is whoever asks.
	User   string
	Groups []string
	// Manager of its fields.
	Manager string
}

// Outcome is what the cluster says.
type Outcome struct {
	// Before is what is there, and After what would be; nil when there is none.
	Before, After map[string]any
	// Refused is why nothing would be changed, in the API server's words.
	Refused string
	// Untried is why it can't be told, as when the namespace comes with the same change.
	Untried string
}

// Cluster is asked.
type Cluster struct {
	cfg  *rest.Config
	self client.Client

	mu sync.Mutex
	as map[string]client.Client
}

// New makes ready to ask a cluster.
func New(cfg *rest.Config) (*Cluster, error) {
	cfg = kube.Unthrottled(cfg)
	c, err := kube.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("talk to %s: %w", cfg.Host, err)
	}
	return &Cluster{cfg: cfg, self: c, as: map[string]client.Client{}}, nil
}

// Run asks about all objects. The outcomes are in their order.
func (c *Cluster) Run(ctx context.Context, tries []Try, progress func()) ([]Outcome, error) {
	all := make([]Outcome, len(tries))
	coming := map[string]bool{} // namespaces that are among the objects
	for _, t := range tries {
		if o := (&unstructured.Unstructured{Object: t.Object}); o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
			coming[o.GetName()] = true
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	const parallel = 8
	g.SetLimit(parallel)
	for i, t := range tries {
		g.Go(func() (err error) {
			all[i], err = c.try(ctx, t, coming)
			progress()
			return err
		})
	}
	return all, g.Wait()
}

func (c *Cluster) client(t Try) (client.Client, error) {
	if t.User == "" {
		return c.self, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.as[t.User]; have != nil {
		return have, nil
	}
	// One mapper for all: what is served is the same whoever asks.
	made, err := client.New(kube.As(c.cfg, t.User, t.Groups...), client.Options{Scheme: c.self.Scheme(), Mapper: c.self.RESTMapper()})
	if err != nil {
		return nil, err
	}
	c.as[t.User] = made
	return made, nil
}

func (c *Cluster) try(ctx context.Context, t Try, coming map[string]bool) (Outcome, error) {
	o := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(t.Object)}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	out := Outcome{}
	err := c.self.Get(ctx, client.ObjectKeyFromObject(o), live)
	switch {
	case meta.IsNoMatchError(err):
		out.Untried = fmt.Sprintf("the cluster does not serve %s of %s yet", o.GetKind(), o.GetAPIVersion())
		out.After = t.Object
		return out, nil
	case err == nil:
		out.Before = bare(live.Object)
	case !apierrors.IsNotFound(err):
		return out, fmt.Errorf("read %s: %w", kube.Describe(o), err)
	}
	as, err := c.client(t)
	if err != nil {
		return out, err
	}
	err = as.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.FieldOwner(t.Manager), client.ForceOwnership)
	switch {
	case err == nil:
		out.After = bare(o.Object)
	case impersonation(err, t):
		return out, fmt.Errorf("you may not impersonate %s: %w", t.User, err)
	case apierrors.IsNotFound(err) && out.Before == nil && coming[o.GetNamespace()]:
		out.Untried, out.After = "its namespace comes with the same change", t.Object
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err), apierrors.IsConflict(err):
		out.Refused = strings.Join(strings.Fields(err.Error()), " ")
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		out.Refused = strings.Join(strings.Fields(err.Error()), " ")
	default:
		return out, fmt.Errorf("try %s: %w", kube.Describe(o), err)
	}
	return out, nil
}

// impersonation tells whether it is the impersonating that is refused.
func impersonation(err error, t Try) bool {
	var status apierrors.APIStatus
	if t.User == "" || !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return false
	}
	return strings.Contains(status.Status().Message, "cannot impersonate resource")
}

// bare is an object without what the API server keeps for itself.
func bare(object map[string]any) map[string]any {
	o := runtime.DeepCopyJSON(object)
	delete(o, "status")
	for _, f := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink", "deletionGracePeriodSeconds"} {
		unstructured.RemoveNestedField(o, "metadata", f)
	}
	return o
}

// Inventory are the objects that Flux's Kustomizations of the cluster have applied and
// would remove when they are no longer in Git, by Kustomization.
func (c *Cluster) Inventory(ctx context.Context) (map[string][]Entry, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "KustomizationList"})
	if err := c.self.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read Kustomizations: %w", err)
	}
	all := map[string][]Entry{}
	for _, k := range list.Items {
		if prune, _, _ := unstructured.NestedBool(k.Object, "spec", "prune"); !prune {
			continue
		}
		entries, _, _ := unstructured.NestedSlice(k.Object, "status", "inventory", "entries")
		for _, e := range entries {
			m, _ := e.(map[string]any)
			id, _ := m["id"].(string)
			if entry, ok := entryOf(id); ok {
				all[k.GetNamespace()+"/"+k.GetName()] = append(all[k.GetNamespace()+"/"+k.GetName()], entry)
			}
		}
	}
	return all, nil
}

// Entry is an object of an inventory.
type Entry struct{ Group, Kind, Namespace, Name string }

// entryOf reads an inventory's ID: namespace_name_group_kind, where a name has __ for a
// colon. The namespace and the group may be empty.
func entryOf(id string) (Entry, bool) {
	namespace, rest, ok := strings.Cut(id, "_")
	kindAt := strings.LastIndex(rest, "_")
	if !ok || kindAt < 0 {
		return Entry{}, false
	}
	groupAt := strings.LastIndex(rest[:kindAt], "_")
	if groupAt < 0 {
		return Entry{}, false
	}
	return Entry{Namespace: namespace, Name: strings.ReplaceAll(rest[:groupAt], "__", ":"), Group: rest[groupAt+1 : kindAt], Kind: rest[kindAt+1:]}, true
}
