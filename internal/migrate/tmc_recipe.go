// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// imagePolicy allows registries. Rules with more than names would allow more than they did.
func imagePolicy(d *draft, o *object, f field) bool {
	if f.get("audit").flag(false) {
		f.get("audit").tell(Stricter, "was only written to a log: it is enforced now")
	}
	for _, rule := range f.get("rules").list() {
		host, name := rule.get("hostname").peek(), rule.get("imageName").peek()
		if !rule.get("tag").blank() || rule.get("requireDigest").flag(false) {
			rule.tell(Lost, "a Tenant says nothing of tags and digests: the rule is left out; add %s to spec.allow.registries if it may be", host)
			continue
		}
		if port := rule.get("port").peek(); port != "" {
			host += ":" + port
		}
		if name == "" || name == "*" {
			name = "*"
		}
		path := strings.TrimSuffix(name, "*")
		if host == "" || strings.Contains(host, "*") || strings.Contains(path, "*") || path != name && path != "" && !strings.HasSuffix(path, "/") {
			rule.tell(Do, "a Tenant lists registries, and no wildcards but for all below one: the rule is left out; name the registries in spec.allow.registries")
			continue
		}
		for _, key := range []string{"hostname", "imageName", "port"} {
			rule.get(key).done()
		}
		d.addRegistry(rule, host+"/"+path)
	}
	d.closeRegistries(f)
	return true
}

// quotaNames are the resources that TMC has names of its own for.
var quotaNames = map[string]string{
	"limitsCpu": "limits.cpu", "limitsMemory": "limits.memory", "requestsCpu": "requests.cpu", "requestsMemory": "requests.memory",
	"requestsStorage": "requests.storage", "persistentvolumeclaims": "persistentvolumeclaims",
}

func quotaPolicy(d *draft, _ *object, f field) bool {
	list := corev1.ResourceList{}
	put := func(at field, name string) {
		if q, ok := quantity(at); ok {
			list[corev1.ResourceName(name)] = q
		}
	}
	for key, name := range quotaNames {
		put(f.get(key), name)
	}
	for _, at := range f.get("resourceCounts").entries() {
		put(at, at.key)
	}
	for _, at := range f.get("persistentvolumeclaimsPerClass").entries() {
		put(at, at.key+".storageclass.storage.k8s.io/persistentvolumeclaims")
	}
	for _, at := range f.get("requestsStoragePerClass").entries() {
		put(at, at.key+".storageclass.storage.k8s.io/requests.storage")
	}
	d.spec.Quota = lesser(d.spec.Quota, list)
	return true
}

func securityPolicy(d *draft, o *object, f field) bool {
	to := v1alpha1.PodSecurityLevel("")
	if o.at("spec", "recipe").peek() == "strict" {
		to = v1alpha1.PodSecurityRestricted
	}
	d.levelled = true
	d.spec.Namespaces.PodSecurity = strictest(d.spec.Namespaces.PodSecurity, to)
	if f.get("audit").flag(false) {
		f.get("audit").tell(Stricter, "was only written to a log: it is enforced now")
	}
	return true
}

func networkPolicy(d *draft, o *object, _ field) bool {
	direction := networkingv1.PolicyTypeIngress
	if o.at("spec", "recipe").peek() == "deny-all-egress" {
		direction = networkingv1.PolicyTypeEgress
	}
	spec := networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{direction}}
	d.addPolicy(o.top(), o.at("spec", "recipe").peek(), spec)
	return true
}
