// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Facts are what checks look at, gathered once.
type Facts struct {
	// Expected are the constant objects of this version of Tenantry.
	Expected []*unstructured.Unstructured

	Tenants             []v1alpha1.Tenant
	Namespaces          []corev1.Namespace
	Policies            []admissionv1.ValidatingAdmissionPolicy
	PolicyBindings      []admissionv1.ValidatingAdmissionPolicyBinding
	ClusterRoles        []rbacv1.ClusterRole
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
	RoleBindings        []rbacv1.RoleBinding
	Roles               []rbacv1.Role
	Deployments         []appsv1.Deployment
	Kustomizations      []kustomizev1.Kustomization
	ValidatingWebhooks  []admissionv1.ValidatingWebhookConfiguration
	MutatingWebhooks    []admissionv1.MutatingWebhookConfiguration

	// Lacking says, by kind, why it could not be read.
	Lacking map[string]string
}

// The kinds that are read.
const (
	kindTenants             = "tenants"
	kindNamespaces          = "namespaces"
	kindPolicies            = "validatingadmissionpolicies"
	kindPolicyBindings      = "validatingadmissionpolicybindings"
	kindClusterRoles        = "clusterroles"
	kindClusterRoleBindings = "clusterrolebindings"
	kindRoleBindings        = "rolebindings"
	kindRoles               = "roles"
	kindDeployments         = "deployments"
	kindKustomizations      = "kustomizations"
	kindValidatingWebhooks  = "validatingwebhookconfigurations"
	kindMutatingWebhooks    = "mutatingwebhookconfigurations"
)

// Gather reads a cluster. What may not be read is noted and not an error: the checks
// that need it are then not made.
func Gather(ctx context.Context, c client.Client, expected []*unstructured.Unstructured) (*Facts, error) {
	f := &Facts{Expected: expected, Lacking: map[string]string{}}
	var (
		tenants             v1alpha1.TenantList
		namespaces          corev1.NamespaceList
		policies            admissionv1.ValidatingAdmissionPolicyList
		policyBindings      admissionv1.ValidatingAdmissionPolicyBindingList
		clusterRoles        rbacv1.ClusterRoleList
		clusterRoleBindings rbacv1.ClusterRoleBindingList
		roleBindings        rbacv1.RoleBindingList
		roles               rbacv1.RoleList
		deployments         appsv1.DeploymentList
		kustomizations      kustomizev1.KustomizationList
		validating          admissionv1.ValidatingWebhookConfigurationList
		mutating            admissionv1.MutatingWebhookConfigurationList
	)
	for _, read := range []struct {
		kind string
		list client.ObjectList
	}{
		{kindTenants, &tenants}, {kindNamespaces, &namespaces}, {kindPolicies, &policies}, {kindPolicyBindings, &policyBindings},
		{kindClusterRoles, &clusterRoles}, {kindClusterRoleBindings, &clusterRoleBindings}, {kindRoleBindings, &roleBindings}, {kindRoles, &roles},
		{kindDeployments, &deployments}, {kindKustomizations, &kustomizations}, {kindValidatingWebhooks, &validating}, {kindMutatingWebhooks, &mutating},
	} {
		err := c.List(ctx, read.list)
		switch {
		case err == nil:
		case apierrors.IsForbidden(err):
			f.Lacking[read.kind] = "you may not list " + read.kind
		case meta.IsNoMatchError(err):
			f.Lacking[read.kind] = "the cluster does not serve " + read.kind
		default:
			return nil, fmt.Errorf("list %s: %w", read.kind, err)
		}
	}
	f.Tenants, f.Namespaces = tenants.Items, namespaces.Items
	f.Policies, f.PolicyBindings = policies.Items, policyBindings.Items
	f.ClusterRoles, f.ClusterRoleBindings = clusterRoles.Items, clusterRoleBindings.Items
	f.Roles, f.RoleBindings = roles.Items, roleBindings.Items
	f.Deployments, f.Kustomizations = deployments.Items, kustomizations.Items
	f.ValidatingWebhooks, f.MutatingWebhooks = validating.Items, mutating.Items
	return f, nil
}

// expected decodes the constant objects of a kind into a typed one each.
func expected[T any](f *Facts, kind string) []*T {
	var all []*T
	for _, u := range f.Expected {
		if u.GetKind() != kind {
			continue
		}
		o := new(T)
		convert(u, o)
		all = append(all, o)
	}
	return all
}

// tenantOf is the tenant of a namespace, or "".
func (f *Facts) tenantOf(namespace string) string {
	for i := range f.Namespaces {
		if f.Namespaces[i].Name == namespace {
			return f.Namespaces[i].Labels[v1alpha1.TenantLabel]
		}
	}
	return ""
}
