// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/policy"
)

// Installer writes the constant objects with the rights of its configuration.
type Installer struct {
	config *rest.Config
	client client.Client
}

// New makes an Installer.
func New(cfg *rest.Config) (*Installer, error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return nil, err
	}
	return &Installer{config: cfg, client: c}, nil
}

// Set is what this cluster gets.
func (i *Installer) Set() (Set, error) {
	_, err := i.client.RESTMapper().RESTMapping(policy.Stamp().GroupVersionKind().GroupKind(), policy.Stamp().GroupVersionKind().Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return Set{}, fmt.Errorf("ask the API server what it serves: %w", err)
	}
	return Objects(err == nil)
}

// Install writes walls, sees that they hold, and then writes grants. With dryRun the
// API server checks every object and keeps none.
func (i *Installer) Install(ctx context.Context, dryRun bool) (Set, error) {
	set, err := i.Set()
	if err != nil {
		return set, err
	}
	var opts []client.ApplyOption
	if dryRun {
		opts = append(opts, client.DryRunAll)
	}
	if err := i.apply(ctx, set.Walls, opts...); err != nil {
		return set, err
	}
	if !dryRun {
		if err := i.Canary(ctx); err != nil {
			return set, err
		}
	}
	if dryRun {
		// The account's namespace is not there to be written into.
		return set, i.apply(ctx, clusterScoped(set.Grants), opts...)
	}
	if err := i.apply(ctx, set.Grants); err != nil {
		return set, err
	}
	return set, i.established(ctx)
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

var (
	// errNoWall says that the canary was not seen refused.
	errNoWall = errors.New("the policies were not seen to hold")
	errNone   = errors.New("let through")
)

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// Canary waits until a request that the policies must refuse is refused. It is made
// by dry run as an identity made up for it, which for that moment may provision.
func (i *Installer) Canary(ctx context.Context) error {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	name := "tenantry:canary-" + hex.EncodeToString(random)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: policy.Labels()},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: compile.RoleProvisioner},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	if err := i.client.Create(ctx, binding, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("bind the canary: %w", err)
	}
	defer func() {
		// The identity exists nowhere else; still, leave nothing.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = i.client.Delete(ctx, binding)
	}()
	canary, err := kube.NewClient(kube.As(i.config, name))
	if err != nil {
		return err
	}
	var last error
	err = poll(ctx, "the policies refuse a request that they must refuse", func(ctx context.Context) (bool, error) {
		last = canary.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "tenantry-canary-"}}, client.DryRunAll)
		if apierrors.IsForbidden(last) && strings.Contains(last.Error(), "cannot impersonate") {
			return false, fmt.Errorf("%w; to try the walls, the installer needs the verb impersonate on users", last)
		}
		return apierrors.IsForbidden(last) && strings.Contains(last.Error(), "[namespaces/in-a-tenant]"), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w (the last answer was: %w)", errNoWall, err, orNone(last))
	}
	return nil
}

const patience = 60 * time.Second

func poll(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, done); err != nil {
		return fmt.Errorf("wait until %s: %w", what, err)
	}
	return nil
}
