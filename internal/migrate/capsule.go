// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	capsuleGroup = "capsule.clastix.io"
	// capsuleLabel names the tenant on its namespaces.
	capsuleLabel = capsuleGroup + "/tenant"
)

// capsuleOwn are labels that Capsule writes for itself.
var capsuleOwn = []string{capsuleGroup + "/managed-by", "projectcapsule.dev/tenant", "projectcapsule.dev/managed-by", "projectcapsule.dev/cordoned"}

// Capsule imports Tenants of Capsule, v1beta1 and v1beta2, with their owners and
// namespaces, and tells what of Capsule's other kinds has to be done anew.
func Capsule(docs []Document) (Result, error) {
	i, err := open(docs)
	if err != nil {
		return Result{}, fmt.Errorf("import capsule: %w", err)
	}
	for _, env := range i.in() {
		if err := i.capsule(env); err != nil {
			return Result{}, fmt.Errorf("import capsule: %w", err)
		}
	}
	if len(i.drafts) == 0 {
		return Result{}, errors.New("import capsule: no tenant found: looked for Tenant of " + capsuleGroup +
			", with CapsuleConfiguration, TenantOwner, TenantResource and others beside it; kubectl get tenants -o yaml writes them")
	}
	r, err := i.close()
	if err != nil {
		return Result{}, fmt.Errorf("import capsule: %w", err)
	}
	return r, nil
}

// capsuleTenant is a Tenant of Capsule that is being read.
type capsuleTenant struct {
	*draft
	of *object
	// old is the name that it has in Capsule.
	old string
	in  field
	// prefixed is when Capsule held all Tenants to their prefix.
	prefixed bool
	// more are TenantOwners and such of the same cluster.
	more []*object
}

func (i *importer) capsule(environment string) error {
	objects := i.of(environment)
	prefixed := false
	for _, o := range objects {
		if o.is(capsuleGroup, "CapsuleConfiguration") {
			prefixed = prefixed || o.configuration()
		}
	}
	tenants, err := i.capsuleTenants(environment, objects, prefixed)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		t.read()
	}
	for _, o := range objects {
		i.capsuleObject(o, tenants)
	}
	return nil
}

// capsuleTenants are the Tenants by the names that they have in Capsule.
func (i *importer) capsuleTenants(environment string, objects []*object, prefixed bool) (map[string]*capsuleTenant, error) {
	tenants := map[string]*capsuleTenant{}
	for _, o := range objects {
		if !o.is(capsuleGroup, "Tenant") {
			continue
		}
		if had := tenants[o.name]; had != nil {
			if !had.same(o) {
				return nil, fmt.Errorf("%s: Tenant %s stands at %s too, and is different there; take one away", o.Place, o.name, had.of.Place)
			}
			o.claim(had.name)
			o.top().done()
			continue
		}
		name, err := i.tenantName(o.name, o)
		if err != nil {
			return nil, err
		}
		o.claim(name)
		tenants[o.name] = &capsuleTenant{
			draft: i.draft(environment, name, o), of: o, old: o.name, in: o.at("spec"), prefixed: prefixed, more: objects,
		}
	}
	return tenants, nil
}

// same tells whether another document is the same Tenant.
func (t *capsuleTenant) same(o *object) bool {
	a, b := *t.of, *o
	a.root, b.root = map[string]any{"spec": t.of.root["spec"]}, map[string]any{"spec": o.root["spec"]}
	return a.fingerprint() == b.fingerprint()
}

// read carries over a Tenant. What none of these reads is noted as lost.
func (t *capsuleTenant) read() {
	t.readOwners()
	t.readStatus()
	t.readNamespaces()
	t.readAllowed()
	t.readServices()
	t.readImages()
	t.readBounds()
	t.readRules()
	t.spec.Cordoned = t.in.get("cordoned").flag(false)
	if prevent := t.in.get("preventDeletion"); prevent.flag(false) {
		t.spec.DeletionPolicy = "Retain"
		prevent.tell(Changed, "the Tenant can be deleted: with deletionPolicy Retain its namespaces and what runs in them stay")
	}
	t.tell(Stricter, "spec.network.mode", "is isolated: pods talk within the tenant and to public addresses, and where spec.network.policies lets them; set it to open if they must talk to pods of others")
	t.tell(Stricter, "spec.allow.tolerations", "is empty: no taints are tolerated, and no node labels asked for but those in spec.allow.nodeSelectors; name what the tenant's workloads need")
	t.tell(Stricter, "spec.sources.allow", "is empty: Flux's sources in the tenant's namespaces may fetch from nowhere; name the URLs that they use")
	t.tell(Do, "", "delete Capsule's Tenant only when Tenantry's stands and its namespaces are handed over: Capsule may remove them with it")
}

// capsuleObject tells of all but Tenants.
func (i *importer) capsuleObject(o *object, tenants map[string]*capsuleTenant) {
	switch {
	case o.is("", "Namespace"):
		o.capsuleNamespace(tenants)
	case o.is(capsuleGroup, "TenantOwner"):
		if !o.claimed {
			o.settle("", Lost, "is matched by no Tenant here: no tenant gets this owner; add it to spec.owners where it belongs")
		}
	case strings.HasPrefix(o.kind, "ProxySetting") || strings.HasPrefix(o.kind, "GlobalProxySettings"):
		o.settle("", Lost, "Tenantry shows owners what their roles show, and has no settings for more: give a ClusterRole of your own in spec.owners[].clusterRoles if more is needed")
	case o.is(capsuleGroup, "GlobalTenantResource"), o.is(capsuleGroup, "TenantResource"):
		o.settle("", Do, "copies objects into namespaces: apply them from the tenants' repositories, or from the fleet into each namespace")
	case (o.group == capsuleGroup || strings.HasSuffix(o.group, "projectcapsule.dev")) && !slices.Contains([]string{"Tenant", "CapsuleConfiguration"}, o.kind):
		o.settle("", Lost, "Tenantry has no such kind: bound the tenant with spec.quota and spec.limits, or apply what it did from the fleet")
	}
}

// configuration reads what was said of all Tenants; it tells whether prefixes were forced.
func (o *object) configuration() bool {
	o.claim("")
	spec := o.at("spec")
	for _, key := range []string{"userGroups", "userNames", "users", "administrators"} {
		if f := spec.get(key); !f.blank() {
			f.tell(Changed, "Tenantry knows people by the Tenant that names them and needs no list: take care that each is in spec.owners")
		}
	}
	if f := spec.get("protectedNamespaceRegex"); !f.blank() {
		f.tell(Changed, "tenants make namespaces named <tenant>-... and no others, so no name needs protection")
	}
	return spec.get("forceTenantPrefix").flag(false)
}
