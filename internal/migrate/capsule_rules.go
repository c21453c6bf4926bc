// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"github.com/tenantry/tenantry/api/v1alpha1"
)

// readRules carries over of Capsule's rules those that allow by name, for everybody and
// every namespace. All others stay unread, and are noted.
func (t *capsuleTenant) readRules() {
	for _, f := range t.in.get("rules").list() {
		t.readRule(f)
	}
}

func (t *capsuleTenant) readRule(f field) {
	enforce := f.get("enforce")
	for _, at := range []field{f.get("namespaceSelector"), f.get("audience"), enforce.get("conditions"), enforce.get("audience")} {
		if !at.blank() {
			f.tell(Lost, "holds for some only, and what a Tenant says holds for all: it is left out; see allow and exceptions of the Tenant for what is needed")
			return
		}
	}
	for _, b := range f.get("permissions").get("bindings").list() {
		t.readBinding(b)
	}
	if action := enforce.get("action"); action.peek() != "allow" {
		if enforce.found {
			enforce.tell(Lost, "a Tenant allows by name and refuses the rest, so rules that deny or audit are left out; see that spec.allow has nothing that they refused")
		}
		return
	}
	enforce.get("action").done()
	t.allowServices(enforce.get("services"))
	t.allowImages(enforce.get("workloads"))
	if hosts := enforce.get("ingress"); !hosts.blank() {
		t.allowHosts(hosts)
	}
}

func (t *capsuleTenant) allowServices(f field) {
	for _, key := range []string{"loadBalancers", "externalNames", "nodePorts"} {
		if !f.get(key).blank() {
			f.tell(Lost, "types of Services are allowed whole or not at all: they are left out; add to spec.allow.serviceTypes what the tenant may have without bounds")
			return
		}
	}
	var types []v1alpha1.ServiceType
	for _, at := range f.get("types").list() {
		switch s := v1alpha1.ServiceType(at.peek()); s {
		case "ClusterIP", "NodePort", "LoadBalancer", "ExternalName":
			at.done()
			types = append(types, s)
		}
	}
	t.serviceTypes(types)
}

// allowImages allows registries that are named. With a policy of their own or for some
// targets only they would allow more than they did.
func (t *capsuleTenant) allowImages(f field) {
	registries := f.get("registries")
	if registries.blank() {
		return
	}
	for _, r := range registries.list() {
		if !f.get("targets").blank() || !r.get("policy").blank() || r.get("negate").flag(false) {
			r.tell(Lost, "registries are allowed for all images and pull policies: this one is left out; add it to spec.allow.registries if it may be")
			continue
		}
		for _, at := range r.get("exact").list() {
			t.registry(at)
		}
		if exp := r.get("exp"); !exp.blank() {
			exp.tell(Do, "a Tenant lists registries: images that the expression matched are refused until spec.allow.registries has theirs")
		}
	}
	t.closeRegistries(registries)
}

func (t *capsuleTenant) allowHosts(f field) {
	if types := f.get("types"); !types.blank() {
		types.tell(Changed, "domains of a Tenant hold for all that serves hosts, not for some kinds")
	}
	for _, h := range f.get("hostnames").list() {
		for _, at := range h.get("exact").list() {
			t.host(at)
		}
		if exp := h.get("exp"); !exp.blank() {
			exp.tell(Do, "a Tenant lists domains: hosts that the expression matched can't be served until spec.domains has theirs")
		}
	}
}
