// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/status"
)

// check finds what admission could not: it would have to see other objects.
func (r *Reconciler) check(ctx context.Context, t *v1alpha1.Tenant) error {
	for _, f := range []func(context.Context, *v1alpha1.Tenant) error{
		r.checkOverlap, r.checkNamespaces, r.checkOwners, r.checkFlux, r.checkExceptions,
	} {
		if err := f(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// checkOverlap lets only one of two tenants stand whose namespaces could bear the
// same names, as oil and oil-gas: the one that stands already, else the older, else
// the shorter. So nobody takes, squats or blocks another's names.
func (r *Reconciler) checkOverlap(ctx context.Context, t *v1alpha1.Tenant) error {
	var others []v1alpha1.Tenant
	for _, name := range prefixes(t.Name) {
		o := v1alpha1.Tenant{}
		err := r.Get(ctx, client.ObjectKey{Name: name}, &o)
		if err == nil {
			others = append(others, o)
		} else if !apierrors.IsNotFound(err) {
			return err
		}
	}
	longer := &v1alpha1.TenantList{}
	if err := r.List(ctx, longer, client.MatchingFields{prefixIndex: t.Name}); err != nil {
		return err
	}
	for _, o := range append(others, longer.Items...) {
		wins, err := r.goesFirst(ctx, &o, t)
		if err != nil {
			return err
		}
		if wins {
			return status.Stall(v1alpha1.ReasonNameOverlap,
				"namespaces named %s-... would fit tenant %s as well as tenant %s, which stands already: choose a name that neither begins with the other's and '-'",
				longest(t.Name, o.Name), t.Name, o.Name)
		}
	}
	return nil
}

func longest(a, b string) string {
	if len(a) > len(b) {
		return a
	}
	return b
}

// goesFirst tells whether a has the better claim to overlapping names than b.
func (r *Reconciler) goesFirst(ctx context.Context, a, b *v1alpha1.Tenant) (bool, error) {
	standsA, err := r.stands(ctx, a.Name)
	if err != nil {
		return false, err
	}
	standsB, err := r.stands(ctx, b.Name)
	if err != nil {
		return false, err
	}
	switch {
	case standsA != standsB:
		return standsA, nil
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp), nil
	default:
		return len(a.Name) < len(b.Name), nil
	}
}

// stands tells whether a tenant has its home namespace.
func (r *Reconciler) stands(ctx context.Context, tenant string) (bool, error) {
	ns := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: tenant}, ns); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return ns.Labels[v1alpha1.TenantLabel] == tenant, nil
}

// prefixes are the names of tenants within whose names a name would fall.
func prefixes(name string) []string {
	var all []string
	for i, c := range name {
		if c == '-' {
			all = append(all, name[:i])
		}
	}
	return all
}

// checkNamespaces refuses to take namespaces that are somebody else's.
func (r *Reconciler) checkNamespaces(ctx context.Context, t *v1alpha1.Tenant) error {
	for _, name := range append([]string{t.Name}, t.Spec.Namespaces.Declared...) {
		ns := &corev1.Namespace{}
		err := r.Get(ctx, client.ObjectKey{Name: name}, ns)
		if err == nil {
			switch owner := ns.Labels[v1alpha1.TenantLabel]; owner {
			case t.Name:
				continue
			case "":
				return status.Stall(v1alpha1.ReasonNamespaceTaken,
					"namespace %s exists and is no tenant's: hand it over with kubectl label namespace %s %s=%s, or choose another name",
					name, name, v1alpha1.TenantLabel, t.Name)
			default:
				return status.Stall(v1alpha1.ReasonNamespaceTaken,
					"namespace %s is of tenant %s: choose another name", name, owner)
			}
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		if err := r.checkClaims(ctx, t, name); err != nil {
			return err
		}
	}
	return nil
}

// checkClaims refuses a name that other tenants have a claim to.
func (r *Reconciler) checkClaims(ctx context.Context, t *v1alpha1.Tenant, name string) error {
	for _, owner := range append(prefixes(name), name) {
		if owner == t.Name {
			continue
		}
		err := r.Get(ctx, client.ObjectKey{Name: owner}, &v1alpha1.Tenant{})
		if err == nil {
			if slices.Contains(prefixes(t.Name), owner) {
				continue // overlap of tenants is told apart, and decided, elsewhere
			}
			return status.Stall(v1alpha1.ReasonNamespaceTaken,
				"namespace %s fits the names of tenant %s: choose another name", name, owner)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	declaring := &v1alpha1.TenantList{}
	if err := r.List(ctx, declaring, client.MatchingFields{namespaceIndex: name}); err != nil {
		return err
	}
	for _, o := range declaring.Items {
		if o.Name != t.Name && slices.Contains(o.Spec.Namespaces.Declared, name) &&
			(o.CreationTimestamp.Before(&t.CreationTimestamp) || o.CreationTimestamp.Equal(&t.CreationTimestamp) && o.Name < t.Name) {
			return status.Stall(v1alpha1.ReasonNamespaceTaken,
				"namespace %s is declared by tenant %s too: take it out of one of them", name, o.Name)
		}
	}
	return nil
}

// checkOwners sees that what owners are made of exists, lest a name be taken later
// by somebody else.
func (r *Reconciler) checkOwners(ctx context.Context, t *v1alpha1.Tenant) error {
	for _, o := range t.Spec.Owners {
		if o.Kind == v1alpha1.OwnerServiceAccount && !mine(t, o.Namespace) {
			err := r.Get(ctx, client.ObjectKey{Name: o.Namespace}, &corev1.Namespace{})
			if apierrors.IsNotFound(err) {
				return status.Stall(v1alpha1.ReasonOwnerNamespaceMissing,
					"owner ServiceAccount %s/%s: namespace %s does not exist; create it, or correct spec.owners", o.Namespace, o.Name, o.Namespace)
			}
			if err != nil {
				return err
			}
		}
		for _, role := range o.ClusterRoles {
			m := &metav1.PartialObjectMetadata{}
			m.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
			err := r.Live.Get(ctx, client.ObjectKey{Name: role}, m)
			if apierrors.IsNotFound(err) {
				return status.Stall(v1alpha1.ReasonRoleNotFound,
					"owner %s: ClusterRole %s does not exist; create it, or correct spec.owners[].clusterRoles", o.Name, role)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// mine tells whether a namespace is, or can only be, the tenant's own.
func mine(t *v1alpha1.Tenant, namespace string) bool {
	return namespace == t.Name || strings.HasPrefix(namespace, t.Name+"-") || slices.Contains(t.Spec.Namespaces.Declared, namespace)
}

func (r *Reconciler) checkFlux(_ context.Context, t *v1alpha1.Tenant) error {
	if len(t.Spec.Syncs) > 0 && !r.FluxServed() {
		return status.Stall(v1alpha1.ReasonFluxMissing,
			"the tenant has syncs and this cluster does not serve Flux's kinds: install Flux, or remove spec.syncs")
	}
	return nil
}

// checkExceptions refuses those of rules that are not there, which would be read as if
// they did something, and of rules that keep tenants apart.
func (r *Reconciler) checkExceptions(_ context.Context, t *v1alpha1.Tenant) error {
	for _, e := range t.Spec.Exceptions {
		p, _, ok := policy.Find(e.Rule)
		if !ok {
			return status.Stall(v1alpha1.ReasonExceptionUnknown,
				"there is no rule %s: correct spec.exceptions; a denial ends with the name of its rule", e.Rule)
		}
		if p.Firm {
			return status.Stall(v1alpha1.ReasonExceptionUnknown,
				"rule %s keeps tenants apart and knows no exception: take it out of spec.exceptions", e.Rule)
		}
	}
	return nil
}

// refusal says of an error what a person can do about it. An error that may pass by
// itself is no stall.
func refusal(err error) *status.Problem {
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "attempting to grant RBAC permissions"):
		return status.Stall(v1alpha1.ReasonRoleNotGrantable,
			"Tenantry may not bind this role: give its controller the verb bind on it by a ClusterRole labelled %s/aggregate-to-controller: \"true\" (%s)",
			v1alpha1.Group, firstLine(err))
	case meta.IsNoMatchError(err):
		return status.Stall(v1alpha1.ReasonFluxMissing, "the cluster does not serve this kind: %s", firstLine(err))
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err) && !isTerminating(err):
		return status.Stall(v1alpha1.ReasonApplyFailed, "%s", firstLine(err))
	default:
		return status.Wait(v1alpha1.ReasonProgressing, "%s", firstLine(err))
	}
}

func isTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

func firstLine(err error) string {
	const most = 900
	line, _, _ := strings.Cut(err.Error(), "\n")
	if len(line) > most {
		return fmt.Sprintf("%s ...", line[:most])
	}
	return line
}
