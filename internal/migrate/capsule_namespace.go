// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// unbounded is the limit of namespaces for tenants that had none: the most that the API
// takes, so that nobody loses what they could do.
const unbounded = 1000

func (t *capsuleTenant) readStatus() {
	for _, f := range t.of.at("status", "namespaces").list() {
		if ns := f.text(); ns != "" {
			t.adopt(f, ns)
		}
	}
	for _, o := range t.more {
		if o.is("", "Namespace") && o.capsuleOwner() == t.old {
			t.adopt(o.top(), o.name)
		}
	}
}

// adopt declares a namespace, unless its name makes it one that the tenant made.
func (t *capsuleTenant) adopt(f field, ns string) {
	if !strings.HasPrefix(ns, t.name+"-") {
		t.declare(f, ns)
	}
}

func (t *capsuleTenant) readNamespaces() {
	options := t.in.get("namespaceOptions")
	self := &v1alpha1.SelfService{Limit: unbounded}
	t.spec.Namespaces.SelfService = self
	quota := options.get("quota")
	switch n, ok := quota.number(); {
	case !ok:
		t.of.tellOf("spec.namespaceOptions.quota", Changed, "was not bounded: selfService.limit is %d, the most there is; set a smaller one", unbounded)
	case n < 1:
		t.spec.Namespaces.SelfService = nil
		quota.tell(Changed, "the tenant makes no namespaces: selfService is not set")
		t.prefix()
		return
	case n > unbounded:
		quota.tell(Stricter, "selfService.limit is %d, the most there is", unbounded)
	default:
		self.Limit = int32(n)
		if declared := len(t.spec.Namespaces.Declared); declared > 0 {
			quota.tell(Changed, "counts only what the tenant makes: its home and the %s come on top; lower selfService.limit by as many", count(declared, "declared namespace"))
		}
	}
	t.stamp(self, options.get("additionalMetadata"))
	for _, f := range options.get("additionalMetadataList").list() {
		if !f.get("namespaceSelector").blank() {
			f.tell(Lost, "labels and annotations of a Tenant go to all namespaces that the tenant makes: those for some only are left out; have the tenant write them")
			continue
		}
		t.stamp(self, f)
	}
	options.get("managedMetadataOnly").unless(false)
	t.prefix()
}

// prefix tells that names are held to the tenant's, whatever Capsule did.
func (t *capsuleTenant) prefix() {
	f := t.in.get("forceTenantPrefix")
	if !f.flag(t.prefixed) {
		t.of.tellOf(f.path, Stricter, "namespaces that the tenant makes are named %s-... from now on; declare in spec.namespaces.declared what needs another name", t.name)
	}
}

// stamp carries over labels and annotations for the tenant's namespaces.
func (t *capsuleTenant) stamp(self *v1alpha1.SelfService, f field) {
	for _, l := range f.get("labels").entries() {
		if l.key == enforceLabel {
			t.enforce(l)
			continue
		}
		reserved := slices.ContainsFunc([]string{"tenantry.dev/", "pod-security.kubernetes.io/", "kubernetes.io/", "toolkit.fluxcd.io/"},
			func(p string) bool { return strings.HasPrefix(l.key, p) })
		t.stampOne(&self.Labels, l, reserved)
	}
	for _, a := range f.get("annotations").entries() {
		t.stampOne(&self.Annotations, a, strings.HasPrefix(a.key, "tenantry.dev/"))
	}
	if len(t.spec.Namespaces.Declared) > 0 && (len(self.Labels) > 0 || len(self.Annotations) > 0) {
		t.of.tellOf(f.path, Changed, "is put on namespaces that the tenant makes and not on declared ones: label those by hand")
	}
}

func (t *capsuleTenant) stampOne(to *map[string]string, f field, reserved bool) {
	value, ok := f.value.(string)
	switch {
	case !ok:
		return
	case reserved:
		f.tell(Lost, "is set by other fields of a Tenant, or by Kubernetes, and not put on namespaces")
	case strings.Contains(value, "{{"):
		f.tell(Lost, "is a template, and a Tenant has none: write the value into spec.namespaces.selfService")
	case len(*to) >= 32:
		f.tell(Lost, "a Tenant stamps 32 of them at most: it is left out")
	default:
		f.done()
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[f.key] = value
	}
}

// enforce makes the Pod Security level that was stamped the Tenant's own.
func (t *capsuleTenant) enforce(f field) {
	l, ok := levelOf(f.peek())
	if !ok {
		f.tell(Lost, "is no level of the Pod Security Standards: baseline is enforced; set spec.namespaces.podSecurity")
		return
	}
	t.spec.Namespaces.PodSecurity, t.levelled = l, true
	f.tell(Changed, "is spec.namespaces.podSecurity now, which the tenant can't change")
}

// capsuleNamespace is a Namespace that Capsule labelled or owned for a tenant.
func (o *object) capsuleNamespace(tenants map[string]*capsuleTenant) {
	t := tenants[o.capsuleOwner()]
	if t == nil {
		if other := tenants[o.name]; other != nil && !o.claimed {
			o.settle(other.name, Do, "has the name of the tenant's home namespace and is not the tenant's: rename the tenant, or move what is in it")
		}
		return
	}
	o.claim(t.name)
	o.label(capsuleLabel).done()
	o.at("metadata", "ownerReferences").done()
	for _, l := range capsuleOwn {
		o.label(l).done()
	}
	t.stamped(o)
	t.handOver(o, o.name)
	if o.name == t.name {
		o.tell(Stricter, "is the tenant's home now: Pod Security is restricted there, and only owners with role admin change things; have workloads that can't live with that in another namespace")
	}
}

// stamped counts as read what the Tenant stamps too.
func (t *capsuleTenant) stamped(o *object) {
	self := t.spec.Namespaces.SelfService
	if self == nil {
		return
	}
	for _, l := range o.at("metadata", "labels").entries() {
		if self.Labels[l.key] == l.peek() && l.peek() != "" || l.key == enforceLabel && l.peek() == level(t.spec.Namespaces.PodSecurity) {
			l.done()
		}
	}
	for _, a := range o.at("metadata", "annotations").entries() {
		if self.Annotations[a.key] == a.peek() && a.peek() != "" {
			a.done()
		}
	}
}

// capsuleOwner is the name of the Tenant that a Namespace says it is of.
func (o *object) capsuleOwner() string {
	if name := o.label(capsuleLabel).peek(); name != "" {
		return name
	}
	for _, f := range o.at("metadata", "ownerReferences").list() {
		if f.get("kind").peek() == "Tenant" && strings.HasPrefix(f.get("apiVersion").peek(), fmt.Sprintf("%s/", capsuleGroup)) {
			return f.get("name").peek()
		}
	}
	return ""
}
