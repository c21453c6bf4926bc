// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// nothing is a registry that there will never be. It stands where a list can't be said
// and an empty one would allow any.
const nothing = "registry.invalid/"

// readAllowed carries over which classes and hosts may be used.
func (t *capsuleTenant) readAllowed() {
	allow := &t.spec.Allow
	var open []string
	for _, list := range []struct {
		path []string
		to   *[]string
	}{
		{[]string{"storageClasses"}, &allow.StorageClasses},
		{[]string{"priorityClasses"}, &allow.PriorityClasses},
		{[]string{"runtimeClasses"}, &allow.RuntimeClasses},
		{[]string{"deviceClasses"}, &allow.DeviceClasses},
		{[]string{"ingressOptions", "allowedClasses"}, &allow.IngressClasses},
		{[]string{"gatewayOptions", "allowedClasses"}, &allow.GatewayClasses},
	} {
		f := t.in
		for _, key := range list.path {
			f = f.get(key)
		}
		if f.blank() {
			open = append(open, strings.Join(list.path, "."))
			continue
		}
		t.classes(f, list.to)
	}
	if len(open) > 0 {
		t.tell(Stricter, "spec.allow", "%s did not bound the tenant: it may use the cluster's default class now, and none where there is none; name in spec.allow what it uses", strings.Join(open, ", "))
	}
	t.hosts(t.in.get("ingressOptions"))
	for _, f := range t.in.get("nodeSelector").entries() {
		t.node(f)
	}
}

// classes reads a list of Capsule: names, a regular expression, a selector, a default.
func (t *capsuleTenant) classes(f field, to *[]string) {
	of := items{"spec.allow", 32, 253, subdomainName}
	for _, item := range f.get("allowed").list() {
		if name := item.text(); name != "" {
			t.add(to, item, name, of)
		}
	}
	if d := f.get("default"); !d.blank() {
		t.add(to, d, d.peek(), of)
		d.tell(Changed, "is allowed, and nothing sets it on objects that name none: name it there, or make it the cluster's default")
	}
	if re := f.get("allowedRegex"); !re.blank() {
		re.tell(Do, "a Tenant lists names: what the expression matched is not allowed until it is named in spec.allow")
	}
	for _, key := range []string{"matchLabels", "matchExpressions"} {
		if sel := f.get(key); !sel.blank() {
			sel.tell(Do, "a Tenant lists names: what the selector matched is not allowed until it is named in spec.allow")
		}
	}
}

func (t *capsuleTenant) hosts(f field) {
	names := f.get("allowedHostnames")
	if names.blank() {
		t.of.tellOf(names.path, Stricter, "any host could be served: none can until spec.domains names the tenant's domains")
	}
	for _, item := range names.get("allowed").list() {
		t.host(item)
	}
	if re := names.get("allowedRegex"); !re.blank() {
		re.tell(Do, "a Tenant lists domains, each with all hosts below it: hosts that the expression matched can't be served until spec.domains has theirs")
	}
	if scope := f.get("hostnameCollisionScope"); !scope.blank() {
		scope.tell(Changed, "two tenants have no domain in common, so their hosts don't collide; within a tenant nothing looks for collisions")
	}
	if wild := f.get("allowWildcardHostnames"); !wild.flag(false) && !names.blank() {
		t.of.tellOf(wild.path, Changed, "wildcards within the tenant's own domains can be served now: nothing in a Tenant refuses them")
	}
}

// host makes a domain of a host. It includes what is below.
func (t *capsuleTenant) host(f field) {
	host := f.text()
	domain := strings.TrimPrefix(host, "*.")
	if host == "" || !t.add(&t.spec.Domains, f, domain, items{"spec.domains", 64, 253, domainName}) {
		return
	}
	if domain != host {
		f.tell(Changed, "is domain %s now, with that host itself", domain)
		return
	}
	f.tell(Changed, "is a domain of the tenant now, with all hosts below it")
}

// node lets Pods ask for nodes where Capsule put them there.
func (t *capsuleTenant) node(f field) {
	value, ok := f.value.(string)
	if !ok {
		return
	}
	if t.add(&t.spec.Allow.NodeSelectors, f, f.key+"="+value, items{"spec.allow.nodeSelectors", 32, 400, nodeLabel}) {
		f.tell(Do, "Pods may ask for these nodes and are not put there by themselves: write the nodeSelector into the tenant's workloads, and taint nodes that are for others")
	}
}

// readServices carries over types of Services. Capsule allows what is not forbidden.
func (t *capsuleTenant) readServices() {
	options := t.in.get("serviceOptions")
	allowed := options.get("allowedServices")
	var types []v1alpha1.ServiceType
	for _, by := range []struct {
		key  string
		name v1alpha1.ServiceType
	}{{"nodePort", "NodePort"}, {"loadBalancer", "LoadBalancer"}, {"externalName", "ExternalName"}} {
		f := allowed.get(by.key)
		switch {
		case f.flag(false):
			types = append(types, by.name)
		case !f.found:
			t.of.tellOf(f.path, Stricter, "was allowed where nothing was said: Services of type %s are refused until spec.allow.serviceTypes has it", by.name)
		}
	}
	t.serviceTypes(types)
	if ips := options.get("externalIPs"); !ips.blank() {
		ips.tell(Stricter, "spec.externalIPs of Services is refused: use a LoadBalancer or a gateway of the platform")
	}
}

func (t *capsuleTenant) serviceTypes(types []v1alpha1.ServiceType) {
	have := map[v1alpha1.ServiceType]bool{}
	for _, s := range append(t.spec.Allow.ServiceTypes, types...) {
		have[s] = true
	}
	if len(have) == 0 {
		return
	}
	have["ClusterIP"] = true
	t.spec.Allow.ServiceTypes = nil
	for _, s := range []v1alpha1.ServiceType{"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"} {
		if have[s] {
			t.spec.Allow.ServiceTypes = append(t.spec.Allow.ServiceTypes, s)
		}
	}
}

// readImages carries over where images may come from and when they are pulled.
func (t *capsuleTenant) readImages() {
	registries := t.in.get("containerRegistries")
	for _, f := range registries.get("allowed").list() {
		t.registry(f)
	}
	if re := registries.get("allowedRegex"); !re.blank() {
		re.tell(Do, "a Tenant lists registries: images that the expression matched are refused until spec.allow.registries has theirs")
	}
	if !registries.blank() {
		t.closeRegistries(registries)
	}
	for _, f := range t.in.get("imagePullPolicies").list() {
		t.pullPolicy(f)
	}
}

func (t *capsuleTenant) pullPolicy(f field) {
	switch p := v1alpha1.PullPolicy(f.peek()); p {
	case "Always", "IfNotPresent", "Never":
		f.done()
		for _, had := range t.spec.Allow.PullPolicies {
			if had == p {
				return
			}
		}
		t.spec.Allow.PullPolicies = append(t.spec.Allow.PullPolicies, p)
	}
}

func (d *draft) registry(f field) {
	if host := f.text(); host != "" {
		d.addRegistry(f, host)
	}
}

// addRegistry allows a registry, with all below it when it is a host alone.
func (d *draft) addRegistry(f field, name string) {
	if !strings.Contains(name, "/") && (strings.ContainsAny(name, ".:") || name == "localhost") {
		name += "/"
	}
	d.add(&d.spec.Allow.Registries, f, name, items{"spec.allow.registries", 100, 255, registryName})
}

// closeRegistries keeps a list that came out empty from allowing any.
func (d *draft) closeRegistries(f field) {
	if len(d.spec.Allow.Registries) == 0 {
		d.spec.Allow.Registries = []string{nothing}
		f.of.tellOf(f.path, Do, "nothing of it can be said in a Tenant: spec.allow.registries has %s, from which nothing comes, so that not any registry is allowed; name those that the tenant needs", nothing)
	}
}
