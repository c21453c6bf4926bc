// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

const (
	kustomizeGroup = "kustomize.toolkit.fluxcd.io"
	sourceGroup    = "source.toolkit.fluxcd.io"
	rbacGroup      = "rbac.authorization.k8s.io"
)

// read gives an object of a tenant's namespace to whom it concerns.
func (c *cluster) read(d *draft, o *object) {
	switch {
	case o.is("", "Namespace"):
		c.namespace(d, o)
	case o.is("", "ServiceAccount"):
		c.account(d, o)
	case o.is(rbacGroup, "RoleBinding"):
		c.roleBinding(d, o)
	case o.is("", "ResourceQuota"):
		c.resourceQuota(d, o)
	case o.is("", "LimitRange"):
		o.claim(d.name)
		b := d.bounds.at(o.namespace)
		b.limits = append(b.limits, limitItems(o.at("spec", "limits"))...)
	case o.is("networking.k8s.io", "NetworkPolicy"):
		c.networkPolicy(d, o)
	case o.is(kustomizeGroup, "Kustomization"):
		// Was read before all others, which it may name.
	case o.is("", "Secret") || o.is("", "ConfigMap"):
		c.secret(d, o)
	default:
		c.other(d, o)
	}
}

func (c *cluster) namespace(d *draft, o *object) {
	o.claim(d.name)
	if d.levels == nil {
		d.levels = map[string]string{}
	}
	d.levels[o.name] = ""
	if l := o.label(enforceLabel); l.found {
		if _, ok := levelOf(l.peek()); ok {
			d.levels[o.name] = l.text()
		}
	}
	d.handOver(o, o.name)
	if o.name == d.name {
		o.tell(Stricter, "is the tenant's home now: Pod Security is restricted there, and only owners with role admin change things; have workloads that can't live with that in another namespace")
	}
}

// account is the one that Flux ran as, or one of workloads.
func (c *cluster) account(d *draft, o *object) {
	if c.accounts[o.namespace+"/"+o.name] || o.label("toolkit.fluxcd.io/tenant").found {
		o.claim(d.name)
		for _, key := range []string{"name", "namespace"} {
			o.at("metadata", key).done()
		}
		o.tell(Changed, "Tenantry makes the account that syncs run as, %s in namespace %s: remove this one once nothing names it", d.name, d.name)
		return
	}
	o.settle(d.name, Do, "is of a workload: move it to the tenant's repository")
}

func (c *cluster) resourceQuota(d *draft, o *object) {
	o.claim(d.name)
	spec := o.at("spec")
	if !spec.get("scopes").blank() || !spec.get("scopeSelector").blank() {
		spec.tell(Lost, "a quota of a Tenant has no scopes: it is left out; put it into the tenant's repository, or bound all Pods in spec.quota")
		return
	}
	b := d.bounds.at(o.namespace)
	b.quota = lesser(b.quota, quantities(spec.get("hard")))
}

func (c *cluster) networkPolicy(d *draft, o *object) {
	o.claim(d.name)
	spec := networkingv1.NetworkPolicySpec{}
	if err := o.at("spec").into(&spec); err != nil {
		o.at("spec").tell(Do, "is no spec of a NetworkPolicy: correct it and import again, or write spec.network.policies")
		return
	}
	d.bounds.at(o.namespace).policies[o.name] = policy{of: o, spec: spec}
}

// secret is told of by name only.
func (c *cluster) secret(d *draft, o *object) {
	if home, ok := c.wanted[o.kind+"/"+o.namespace+"/"+o.name]; ok && home != o.namespace {
		o.settle(d.name, Do, "is named by a sync, which looks for it in the home namespace now: put it into namespace %s", home)
		return
	}
	o.settle(d.name, Do, "is not part of a Tenant: leave it where it is, or move it to the tenant's repository")
}

// other is what the platform applied for the tenant and what the tenant has to apply.
func (c *cluster) other(d *draft, o *object) {
	if o.claimed {
		return
	}
	if isSource(o) {
		o.settle(d.name, Do, "is used by no Kustomization of the tenant's namespaces here: move it to the tenant's repository, and allow its URL in spec.sources")
		return
	}
	if strings.HasSuffix(o.group, "toolkit.fluxcd.io") {
		o.settle(d.name, Do, "was applied by the platform: move it to the tenant's repository, where it runs as account %s, and allow in spec.sources what it fetches", d.name)
		return
	}
	o.settle(d.name, Do, "was applied by the platform: move it to the tenant's repository if the tenant needs it")
}

func isSource(o *object) bool {
	return o.group == sourceGroup && slices.Contains([]string{"GitRepository", "OCIRepository", "Bucket"}, o.kind)
}
