// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// read is what one cluster says to a query.
func read(ctx context.Context, c client.Client, q Query) ([]Row, error) {
	var all []Row
	if q.Namespace != "" && slices.Contains(q.Kinds, Tenant) {
		ns := &corev1.Namespace{}
		if err := client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Name: q.Namespace}, ns)); err != nil {
			return nil, err
		}
		t := ns.Labels[v1alpha1.TenantLabel]
		if t == "" || q.Tenant != "" && q.Tenant != t {
			return nil, nil
		}
		q.Tenant = t
	}
	if slices.Contains(q.Kinds, Tenant) {
		rows, err := tenants(ctx, c, q)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	if slices.Equal(q.Kinds, []Kind{Tenant}) {
		return all, nil
	}
	owner, rows, err := namespaces(ctx, c, q)
	if err != nil {
		return nil, err
	}
	if slices.Contains(q.Kinds, Namespace) {
		all = append(all, rows...)
	}
	for _, k := range fluxKinds {
		if !slices.Contains(q.Kinds, k.kind) {
			continue
		}
		rows, err := k.rows(ctx, c, q, owner)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

func (q Query) wants(tenant, name string) bool {
	return (q.Tenant == "" || q.Tenant == tenant) && (q.Name == "" || q.Name == name)
}

func tenants(ctx context.Context, c client.Client, q Query) ([]Row, error) {
	list := &v1alpha1.TenantList{}
	if err := c.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("it has no Tenant API: install it with `tenantry install`")
		}
		return nil, err
	}
	var all []Row
	for i := range list.Items {
		t := &list.Items[i]
		if q.Tenant != "" && q.Tenant != t.Name || q.Name != "" && len(q.Kinds) == 1 && q.Name != t.Name {
			continue
		}
		r := Row{Kind: Tenant, Tenant: t.Name, Name: t.Name, Created: t.CreationTimestamp.Time, Owners: t.Status.Owners, Suspended: t.Spec.Cordoned}
		r.Ready, r.Message = conditionOf(t.Status.Conditions, v1alpha1.ReadyCondition)
		var why string
		if r.Synced, why = conditionOf(t.Status.Conditions, v1alpha1.SyncedCondition); r.Ready == "True" && r.Synced == "False" {
			r.Message = why
		}
		for _, ns := range t.Status.Namespaces {
			r.Namespaces = append(r.Namespaces, ns.Name)
		}
		all = append(all, r)
	}
	return all, nil
}

// namespaces are the namespaces of tenants, and whose each is. Who may not list
// namespaces may still read the one that is asked for.
func namespaces(ctx context.Context, c client.Client, q Query) (map[string]string, []Row, error) {
	list := &corev1.NamespaceList{}
	var err error
	if q.Namespace == "" {
		err = c.List(ctx, list, client.HasLabels{v1alpha1.TenantLabel})
	} else {
		list.Items = make([]corev1.Namespace, 1)
		err = client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Name: q.Namespace}, &list.Items[0]))
	}
	if err != nil {
		return nil, nil, err
	}
	origins, err := originsOf(ctx, c, q)
	if err != nil {
		return nil, nil, err
	}
	owner := map[string]string{}
	var all []Row
	for i := range list.Items {
		ns := &list.Items[i]
		t := ns.Labels[v1alpha1.TenantLabel]
		if t == "" {
			continue
		}
		owner[ns.Name] = t
		if !q.wants(t, ns.Name) {
			continue
		}
		r := Row{Kind: Namespace, Tenant: t, Object: "Namespace", Name: ns.Name, Created: ns.CreationTimestamp.Time, State: string(ns.Status.Phase)}
		if o, ok := origins[ns.Name]; ok {
			r.Origin, r.State = string(o.Origin), string(o.State)
		}
		all = append(all, r)
	}
	return owner, all, nil
}

// originsOf is what the tenants' status says of their namespaces.
func originsOf(ctx context.Context, c client.Client, q Query) (map[string]v1alpha1.NamespaceStatus, error) {
	all := map[string]v1alpha1.NamespaceStatus{}
	if q.Namespace != "" || !slices.Contains(q.Kinds, Namespace) {
		return all, nil
	}
	list := &v1alpha1.TenantList{}
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	for _, t := range list.Items {
		for _, ns := range t.Status.Namespaces {
			all[ns.Name] = ns
		}
	}
	return all, nil
}

// fluxKind is a kind of Flux that tenants have.
type fluxKind struct {
	kind   Kind
	object string
	list   func() client.ObjectList
}

var fluxKinds = []fluxKind{
	{Source, "GitRepository", func() client.ObjectList { return &sourcev1.GitRepositoryList{} }},
	{Source, "OCIRepository", func() client.ObjectList { return &sourcev1.OCIRepositoryList{} }},
	{Source, "HelmRepository", func() client.ObjectList { return &sourcev1.HelmRepositoryList{} }},
	{Source, "Bucket", func() client.ObjectList { return &sourcev1.BucketList{} }},
	{Sync, "Kustomization", func() client.ObjectList { return &kustomizev1.KustomizationList{} }},
	{Sync, "HelmRelease", func() client.ObjectList { return &helmv2.HelmReleaseList{} }},
}

func (k fluxKind) rows(ctx context.Context, c client.Client, q Query, owner map[string]string) ([]Row, error) {
	list := k.list()
	var opts []client.ListOption
	if q.Namespace != "" {
		opts = append(opts, client.InNamespace(q.Namespace))
	}
	if err := c.List(ctx, list, opts...); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil // a cluster need not run all of Flux
		}
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	var all []Row
	for _, item := range items {
		o := item.(client.Object)
		t := owner[o.GetNamespace()]
		if t == "" || !q.wants(t, o.GetName()) {
			continue
		}
		r := Row{Kind: k.kind, Tenant: t, Object: k.object, Namespace: o.GetNamespace(), Name: o.GetName(), Created: o.GetCreationTimestamp().Time}
		fill(&r, o)
		all = append(all, r)
	}
	return all, nil
}

// fill reads what a kind alone has.
func fill(r *Row, o client.Object) {
	switch o := o.(type) {
	case *sourcev1.GitRepository:
		r.From, r.Suspended, r.Revision = o.Spec.URL, o.Spec.Suspend, revisionOf(o.Status.Artifact)
		r.Ready, r.Message = conditionOf(o.Status.Conditions, "Ready")
	case *sourcev1.OCIRepository:
		r.From, r.Suspended, r.Revision = o.Spec.URL, o.Spec.Suspend, revisionOf(o.Status.Artifact)
		r.Ready, r.Message = conditionOf(o.Status.Conditions, "Ready")
	case *sourcev1.HelmRepository:
		r.From, r.Suspended, r.Revision = o.Spec.URL, o.Spec.Suspend, revisionOf(o.Status.Artifact)
		if r.Ready, r.Message = conditionOf(o.Status.Conditions, "Ready"); o.Spec.Type == sourcev1.HelmRepositoryTypeOCI {
			r.Ready, r.Message = "True", "a registry is looked at by who uses it"
		}
	case *sourcev1.Bucket:
		r.From, r.Suspended, r.Revision = o.Spec.Endpoint+"/"+o.Spec.BucketName, o.Spec.Suspend, revisionOf(o.Status.Artifact)
		r.Ready, r.Message = conditionOf(o.Status.Conditions, "Ready")
	case *kustomizev1.Kustomization:
		r.From = o.Spec.SourceRef.Kind + "/" + o.Spec.SourceRef.Name + " " + o.Spec.Path
		r.Suspended, r.Revision = o.Spec.Suspend, o.Status.LastAppliedRevision
		r.Ready, r.Message = conditionOf(o.Status.Conditions, "Ready")
		if o.Status.Inventory != nil {
			for _, e := range o.Status.Inventory.Entries {
				r.Inventory = append(r.Inventory, objectOf(e.ID))
			}
		}
	case *helmv2.HelmRelease:
		r.Suspended = o.Spec.Suspend
		if latest := o.Status.History.Latest(); latest != nil {
			r.Revision, r.From = latest.ChartVersion, latest.ChartName
		}
		r.Ready, r.Message = conditionOf(o.Status.Conditions, "Ready")
	}
}

// objectOf reads an entry of Flux's inventory, namespace_name_group_kind, where a
// colon in a name is written as two underscores.
func objectOf(id string) string {
	namespace, rest, _ := strings.Cut(id, "_")
	kind := rest[strings.LastIndex(rest, "_")+1:]
	rest = strings.TrimSuffix(rest, "_"+kind)
	name := rest
	if i := strings.LastIndex(rest, "_"); i >= 0 {
		name = rest[:i]
	}
	name = strings.ReplaceAll(name, "__", ":")
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

func revisionOf(a *fluxmeta.Artifact) string {
	if a == nil {
		return ""
	}
	return a.Revision
}

func conditionOf(conditions []metav1.Condition, kind string) (status, message string) {
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		return string(metav1.ConditionUnknown), ""
	}
	return string(c.Status), c.Message
}
