// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Flux imports what `flux create tenant` made, with the sources and Kustomizations of
// its namespaces. Overlays are built already: there is a document per object and
// environment. A tenant is what the label toolkit.fluxcd.io/tenant names.
func Flux(docs []Document) (Result, error) {
	i, err := open(docs)
	if err != nil {
		return Result{}, fmt.Errorf("import flux: %w", err)
	}
	for _, env := range i.in() {
		c := i.cluster(env)
		if err := c.labelled(); err != nil {
			return Result{}, fmt.Errorf("import flux: %w", err)
		}
		if err := c.take(); err != nil {
			return Result{}, fmt.Errorf("import flux: %w", err)
		}
	}
	if len(i.drafts) == 0 {
		return Result{}, errors.New("import flux: no tenant found: looked for Namespace, ServiceAccount and RoleBinding with the label " +
			v1alpha1.FluxTenantLabel + ", as flux create tenant writes them")
	}
	r, err := i.close()
	if err != nil {
		return Result{}, fmt.Errorf("import flux: %w", err)
	}
	return r, nil
}

// cluster is the Kubernetes objects of one environment.
type cluster struct {
	*importer
	environment string
	objects     []*object
	// tenants by namespace.
	tenants map[string]string
	byID    map[string]*object
	// syncs by the Kustomization that they were.
	syncs map[string]*taken
	// accounts are those that Kustomizations run as, as namespace/name.
	accounts map[string]bool
	// secrets that syncs name, as kind/namespace/name, with where they must be.
	wanted map[string]string
}

func (i *importer) cluster(environment string) *cluster {
	return &cluster{
		importer: i, environment: environment, objects: i.of(environment),
		tenants: map[string]string{}, byID: map[string]*object{}, syncs: map[string]*taken{},
		accounts: map[string]bool{}, wanted: map[string]string{},
	}
}

// labelled finds the tenants of namespaces by the label. What a Namespace says goes
// before what objects in it say.
func (c *cluster) labelled() error {
	for _, kinds := range [][]string{{"Namespace"}, {"ServiceAccount", "RoleBinding"}} {
		for _, o := range c.objects {
			label := o.label(v1alpha1.FluxTenantLabel)
			ns := o.namespace
			if o.kind == "Namespace" {
				ns = o.name
			}
			if !slices.Contains(kinds, o.kind) || label.peek() == "" || ns == "" {
				continue
			}
			if err := c.give(ns, label.peek(), o); err != nil {
				return err
			}
			label.done()
		}
	}
	return nil
}

// give makes a namespace a tenant's.
func (c *cluster) give(ns, tenant string, o *object) error {
	name, err := c.tenantName(tenant, o)
	if err != nil {
		return err
	}
	if had, ok := c.tenants[ns]; ok && had != name {
		return fmt.Errorf("%s: %s: namespace %s is of tenant %s too; a namespace has one tenant: correct the label of one", o.Place, o.title(), ns, had)
	}
	c.tenants[ns] = name
	d := c.draft(c.environment, name, o)
	d.declare(o.top(), ns)
	d.bounds.at(ns)
	return nil
}

// owner is the draft of the tenant that an object belongs to, nil for none.
func (c *cluster) owner(o *object) *draft {
	ns := o.namespace
	if o.is("", "Namespace") {
		ns = o.name
	}
	if name, ok := c.tenants[ns]; ok && ns != "" {
		return c.draft(c.environment, name, o)
	}
	return nil
}

// take reads the objects of tenants' namespaces.
func (c *cluster) take() error {
	if err := c.index(); err != nil {
		return err
	}
	c.each(func(d *draft, o *object) {
		if o.is(kustomizeGroup, "Kustomization") {
			c.accounts[o.namespace+"/"+o.at("spec", "serviceAccountName").peek()] = true
			c.sync(d, o)
		}
	})
	c.depend()
	c.each(c.read)
	for _, o := range c.objects {
		c.clusterWide(o)
	}
	for _, d := range c.drafts[c.environment] {
		d.openings()
	}
	return nil
}

func (c *cluster) each(do func(*draft, *object)) {
	for _, o := range c.objects {
		d := c.owner(o)
		if d == nil {
			continue
		}
		if l := o.label(v1alpha1.FluxTenantLabel); c.names[l.peek()] == d.name {
			l.done()
		}
		do(d, o)
	}
}

// index finds objects by name, and refuses two of a name that are not the same.
func (c *cluster) index() error {
	for _, o := range c.objects {
		had, twice := c.byID[o.id()]
		if twice && c.owner(o) != nil && had.fingerprint() != o.fingerprint() {
			return fmt.Errorf("%s: %s stands at %s too, and is different there; take one away", o.Place, o.title(), had.Place)
		}
		if o.kind != "" && o.name != "" {
			c.byID[o.id()] = o
		}
	}
	c.objects = slices.DeleteFunc(c.objects, func(o *object) bool {
		first := c.byID[o.id()]
		if first == nil || first == o || c.owner(o) == nil {
			return false
		}
		o.claim(c.owner(o).name)
		o.top().done()
		return true
	})
	return nil
}

// openings tells what is closed by default and was open: Flux's tenants had no walls
// but RBAC.
func (d *draft) openings() {
	d.tell(Stricter, "spec.network.mode", "is isolated: pods talk within the tenant and to public addresses; set it to open if they must talk to pods of others")
	d.tell(Stricter, "spec.allow", "Services are ClusterIP, classes the cluster's defaults, node labels and tolerations none, where it says no more: name what the tenant's applications use")
	d.tell(Stricter, "spec.domains", "is empty: no host may be served by Ingresses, routes and Gateways; name the tenant's domains")
	d.tell(Stricter, "spec.sources.allow", "is empty: sources in the tenant's own repository may fetch from nowhere; name the URLs that it uses")
	d.tell(Stricter, "spec.namespaces.selfService", "is not set: the tenant makes no namespaces; set a limit if its account did")
}
