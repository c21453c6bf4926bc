// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

const enforceLabel = "pod-security.kubernetes.io/enforce"

// namespace carries the data that the admission policies read, so it is written
// before anything else in it, and marked when audited rules are to be looked at. One that the tenant or an admin made is stamped and
// not marked as managed: its maker may delete it.
func namespace(t *v1alpha1.Tenant, ns v1alpha1.NamespaceStatus, data map[string]string) *Object {
	labels := map[string]string{}
	annotations := map[string]string{}
	switch ns.Origin {
	case v1alpha1.OriginHome, v1alpha1.OriginDeclared:
		maps.Copy(labels, ManagedLabels(t.Name))
	case v1alpha1.OriginSelfService:
		if self := t.Spec.Namespaces.SelfService; self != nil {
			maps.Copy(labels, self.Labels)
			maps.Copy(annotations, self.Annotations)
		}
	}
	maps.Copy(annotations, data)
	if data[v1alpha1.AuditedAnnotation] != "" {
		labels[v1alpha1.AuditLabel] = "true"
	}
	labels[v1alpha1.TenantLabel] = t.Name
	labels[v1alpha1.FluxTenantLabel] = t.Name
	if cordon := cordon(t); cordon != "" {
		labels[v1alpha1.CordonLabel] = cordon
	}
	labels[enforceLabel] = string(podSecurity(t, ns.Origin))
	return object(&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: ns.Name, Labels: labels, Annotations: annotations},
	})
}

// Lasting takes off a namespace that is to be created whatever its Tenant may one day no
// longer say, and tells whether that was nothing.
func Lasting(ns *Object) (whole bool) {
	lasting := []string{v1alpha1.HashAnnotation, v1alpha1.NetworkAnnotation, v1alpha1.ServiceTypesAnnotation, v1alpha1.SourcesAnnotation}
	labels, annotations := ns.GetLabels(), ns.GetAnnotations()
	before := len(labels) + len(annotations)
	maps.DeleteFunc(labels, func(k, _ string) bool { return k == v1alpha1.CordonLabel || k == v1alpha1.AuditLabel })
	maps.DeleteFunc(annotations, func(k, _ string) bool { return !slices.Contains(lasting, k) })
	ns.SetLabels(labels)
	ns.SetAnnotations(annotations)
	return len(labels)+len(annotations) == before
}

// cordon is the value of the label that freezes a namespace, or "". A tenant that is
// being deleted is frozen for people; its accounts prune what they applied.
func cordon(t *v1alpha1.Tenant) string {
	switch {
	case !t.DeletionTimestamp.IsZero():
		return v1alpha1.CordonOffboarding
	case t.Spec.Cordoned:
		return v1alpha1.CordonAll
	default:
		return ""
	}
}

// podSecurity is restricted in the home namespace: it holds the tenant's account
// and no workload needs more there.
func podSecurity(t *v1alpha1.Tenant, origin v1alpha1.NamespaceOrigin) v1alpha1.PodSecurityLevel {
	switch {
	case origin == v1alpha1.OriginHome:
		return v1alpha1.PodSecurityRestricted
	case t.Spec.Namespaces.PodSecurity == "":
		return v1alpha1.PodSecurityBaseline
	default:
		return t.Spec.Namespaces.PodSecurity
	}
}
