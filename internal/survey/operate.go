// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// manager owns what these verbs write on Flux's objects.
const manager = client.FieldOwner(v1alpha1.CLIManager)

// Operated is a sync that was told something, and what came of it.
type Operated struct {
	Name     string `json:"name"`
	Revision string `json:"revision,omitempty"`
	Done     bool   `json:"done"`
	Message  string `json:"message,omitempty"`
}

// syncsOf are a tenant's syncs, or the one named.
func syncsOf(ctx context.Context, c client.Client, tenant, sync string) ([]kustomizev1.Kustomization, error) {
	if err := c.Get(ctx, client.ObjectKey{Name: tenant}, &v1alpha1.Tenant{}); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("it has no tenant %s", tenant)
		}
		return nil, err
	}
	list := &kustomizev1.KustomizationList{}
	if err := c.List(ctx, list, client.InNamespace(tenant), client.MatchingLabels{v1alpha1.ManagedLabel: tenant}); err != nil {
		return nil, err
	}
	list.Items = slices.DeleteFunc(list.Items, func(k kustomizev1.Kustomization) bool { return sync != "" && k.Name != sync })
	if len(list.Items) == 0 && sync != "" {
		return nil, fmt.Errorf("tenant %s has no sync %s there", tenant, sync)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("tenant %s has no syncs there", tenant)
	}
	return list.Items, nil
}

// Suspend suspends syncs of a tenant, or resumes them. The source is left alone, as
// others may use it.
func Suspend(ctx context.Context, c client.Client, tenant, sync string, suspend bool) ([]Operated, error) {
	syncs, err := syncsOf(ctx, c, tenant, sync)
	if err != nil {
		return nil, err
	}
	var all []Operated
	for i := range syncs {
		k := &syncs[i]
		o := Operated{Name: k.Name, Done: true, Message: "suspended"}
		if !suspend {
			o.Message = "resumed"
		}
		if k.Spec.Suspend == suspend {
			o.Message = "already " + o.Message
			all = append(all, o)
			continue
		}
		before := k.DeepCopy()
		k.Spec.Suspend = suspend
		if err := c.Patch(ctx, k, client.MergeFrom(before), manager); err != nil {
			return all, err
		}
		all = append(all, o)
	}
	return all, nil
}

// Reconcile has Flux fetch the sources of syncs and apply them now, and waits for it.
func Reconcile(ctx context.Context, c client.Client, tenant, sync string) ([]Operated, error) {
	syncs, err := syncsOf(ctx, c, tenant, sync)
	if err != nil {
		return nil, err
	}
	token := time.Now().Format(time.RFC3339Nano)
	var all []Operated
	for i := range syncs {
		k := &syncs[i]
		if k.Spec.Suspend {
			all = append(all, Operated{Name: k.Name, Message: "it is suspended: resume it first"})
			continue
		}
		source, err := sourceOf(k)
		if err == nil {
			err = request(ctx, c, source, token)
		}
		if err == nil {
			err = request(ctx, c, k, token)
		}
		if err != nil {
			all = append(all, Operated{Name: k.Name, Message: err.Error()})
			continue
		}
		all = append(all, Operated{Name: k.Name, Done: true, Revision: k.Status.LastAppliedRevision})
	}
	return all, nil
}

func sourceOf(k *kustomizev1.Kustomization) (asker, error) {
	var o asker
	switch k.Spec.SourceRef.Kind {
	case "GitRepository":
		o = &sourcev1.GitRepository{}
	case "OCIRepository":
		o = &sourcev1.OCIRepository{}
	case "Bucket":
		o = &sourcev1.Bucket{}
	default:
		return nil, fmt.Errorf("source kind %s is not known", k.Spec.SourceRef.Kind)
	}
	o.SetNamespace(k.Namespace)
	o.SetName(k.Spec.SourceRef.Name)
	return o, nil
}

// asker is an object of Flux that can be asked to reconcile and tells when it has.
type asker interface {
	client.Object
	GetConditions() []metav1.Condition
}

// request asks an object to reconcile and waits until it has, and is Ready.
func request(ctx context.Context, c client.Client, o asker, token string) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	before := o.DeepCopyObject().(client.Object)
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[fluxmeta.ReconcileRequestAnnotation] = token
	o.SetAnnotations(annotations)
	if err := c.Patch(ctx, o, client.MergeFrom(before), manager); err != nil {
		return err
	}
	for {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(o.GetConditions(), fluxmeta.ReadyCondition)
		if handled(o) == token && ready != nil && ready.ObservedGeneration == o.GetGeneration() {
			switch ready.Status {
			case metav1.ConditionTrue:
				return nil
			case metav1.ConditionFalse:
				return errors.New(ready.Message)
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("not done yet: Flux goes on by itself")
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// handled is the last request that an object has seen to.
func handled(o client.Object) string {
	switch o := o.(type) {
	case *sourcev1.GitRepository:
		return o.Status.GetLastHandledReconcileRequest()
	case *sourcev1.OCIRepository:
		return o.Status.GetLastHandledReconcileRequest()
	case *sourcev1.Bucket:
		return o.Status.GetLastHandledReconcileRequest()
	case *kustomizev1.Kustomization:
		return o.Status.GetLastHandledReconcileRequest()
	}
	return ""
}
