// SPDX-License-Identifier: Apache-2.0

package compile

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

const isolateName = "tenantry-isolate"

// network is the isolating policy, unless the tenant is open, and the tenant's own.
func network(t *v1alpha1.Tenant, namespace string) []*Object {
	var all []*Object
	if networkMode(t) != v1alpha1.NetworkOpen {
		all = append(all, networkPolicy(t, namespace, isolateName, isolate(t.Name)))
	}
	for _, p := range t.Spec.Network.Policies {
		all = append(all, networkPolicy(t, namespace, p.Name, p.Spec))
	}
	return all
}

func networkPolicy(t *v1alpha1.Tenant, namespace, name string, spec networkingv1.NetworkPolicySpec) *Object {
	return object(&networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: meta(t.Name, namespace, name),
		Spec:       spec,
	})
}

// privateRanges hold pods, nodes and metadata services, so they are no part of
// "the public": RFC 1918, RFC 6598, loopback, link-local, Azure's host service, and their
// IPv6 counterparts.
var (
	privateIPv4 = []string{"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}
	privateIPv6 = []string{"fc00::/7", "fe80::/10"}
)

// isolate lets pods of a tenant talk among themselves, with the platform's
// gateways, to DNS and to public addresses.
func isolate(tenant string) networkingv1.NetworkPolicySpec {
	within := []networkingv1.NetworkPolicyPeer{
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.TenantLabel: tenant}}},
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.GatewayLabel: "true"}}},
	}
	dns := []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem},
	}}}
	public := []networkingv1.NetworkPolicyPeer{
		{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: privateIPv4}},
		{IPBlock: &networkingv1.IPBlock{CIDR: "::/0", Except: privateIPv6}},
	}
	return networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: within}},
		Egress: []networkingv1.NetworkPolicyEgressRule{
			{To: within},
			{To: dns, Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, 53), port(corev1.ProtocolTCP, 53)}},
			{To: public},
		},
	}
}

func port(protocol corev1.Protocol, number int) networkingv1.NetworkPolicyPort {
	n := intstr.FromInt(number)
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &n}
}
