// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/policy"
)

// Installer writes the constant objects with the rights of its configuration.
type Installer struct {
	client client.Client
}

// New makes an Installer.
func New(cfg *rest.Config) (*Installer, error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return nil, err
	}
	return &Installer{client: c}, nil
}

// Set is what this cluster gets.
func (i *Installer) Set(audit ...string) (Set, error) {
	_, err := i.client.RESTMapper().RESTMapping(policy.Stamp().GroupVersionKind().GroupKind(), policy.Stamp().GroupVersionKind().Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return Set{}, fmt.Errorf("ask the API server what it serves: %w", err)
	}
	return Objects(Options{Stamp: err == nil, Audit: audit})
}

// Install writes walls, sees that they hold, and then writes grants. Rules in audit
// warn instead of denying. With dryRun the API server checks every object and keeps none.
func (i *Installer) Install(ctx context.Context, dryRun bool, audit ...string) (Set, error) {
	set, err := i.Set(audit...)
	if err != nil {
		return set, err
	}
	if dryRun {
		// The account's namespace is not there to be written into.
		return set, i.apply(ctx, append(set.Walls, clusterScoped(set.Grants)...), client.DryRunAll)
	}
	if err := i.apply(ctx, set.Walls); err != nil {
		return set, err
	}
	for _, mark := range []string{"first-" + set.digest, set.digest} {
		if err := i.canary(ctx, mark); err != nil {
			return set, err
		}
	}
	if err := i.retire(ctx, set); err != nil {
		return set, err
	}
	if err := i.apply(ctx, set.Grants); err != nil {
		return set, err
	}
	return set, i.established(ctx)
}

// retire removes policies of another version, now that this one's stand.
func (i *Installer) retire(ctx context.Context, set Set) error {
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		keep := map[string]bool{}
		for _, o := range set.Walls {
			if o.GetKind() == kind {
				keep[o.GetName()] = true
			}
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := i.client.List(ctx, list, client.MatchingLabels(policy.Labels())); err != nil {
			return err
		}
		for n := range list.Items {
			if o := &list.Items[n]; !keep[o.Name] {
				if err := i.client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
					return fmt.Errorf("retire %s %s: %w", kind, o.Name, err)
				}
			}
		}
	}
	return nil
}

func (i *Installer) apply(ctx context.Context, objects []*unstructured.Unstructured, opts ...client.ApplyOption) error {
	for _, o := range objects {
		if err := kube.Apply(ctx, i.client, o, opts...); err != nil {
			return err
		}
	}
	return nil
}

func clusterScoped(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetNamespace() == "" {
			all = append(all, o)
		}
	}
	return all
}

// established waits until the Tenant API is served.
func (i *Installer) established(ctx context.Context) error {
	name := "tenants." + v1alpha1.Group
	return poll(ctx, "the API server serves "+name, func(ctx context.Context) (bool, error) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := i.client.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return false, err
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

// errNoWall says that the canary was not seen refused.
var errNoWall = errors.New("the policies were not seen to hold")

// canary writes a canary and waits until the API server refuses, by dry run, what it
// refuses to everyone. With several API servers it asks the one that it reaches.
func (i *Installer) canary(ctx context.Context, mark string) error {
	p, binding := policy.Canary(mark)
	if err := i.apply(ctx, []*unstructured.Unstructured{object(p), object(binding)}); err != nil {
		return err
	}
	var last error
	err := poll(ctx, "the policies refuse a request that they must refuse", func(ctx context.Context) (bool, error) {
		last = i.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: policy.CanaryPrefix}}, client.DryRunAll)
		return apierrors.IsForbidden(last) && strings.Contains(last.Error(), "/"+mark+"]"), nil
	})
	if err == nil {
		return nil
	}
	if last == nil {
		last = errors.New("let through")
	}
	return fmt.Errorf("%w: %w (the last answer was: %w)", errNoWall, err, last)
}

const patience = 60 * time.Second

func poll(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, done); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}
