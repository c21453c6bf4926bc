// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What the API takes. The rules are those of the markers in api/v1alpha1.
var (
	tenantName    = regexp.MustCompile("^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")
	labelName     = regexp.MustCompile("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
	domainName    = regexp.MustCompile("^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$")
	registryName  = regexp.MustCompile("^[a-z0-9.:-]+/[a-z0-9._/-]*$")
	nodeLabel     = regexp.MustCompile("^[A-Za-z0-9][-A-Za-z0-9_./]*=[-A-Za-z0-9_.]*$")
	subdomainName = regexp.MustCompile("^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$")
)

var systems = []string{"default", "flux", "flux-system", "tenantry-system", "tenantry", "kube"}

func fits(name string) bool {
	return tenantName.MatchString(name) && !slices.Contains(systems, name) && !strings.HasPrefix(name, "kube-")
}

var strange = regexp.MustCompile("[^-a-z0-9]+")

// anything is for lists whose only rule is length.
var anything = regexp.MustCompile(".")

// alike makes a name that Tenantry can have of one that it can't, where that is plain.
func alike(name string) string {
	name = strings.Trim(strange.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "t-" + name
	}
	return name
}

// tenantName is the tenant's name in Tenantry.
func (i *importer) tenantName(old string, o *object) (string, error) {
	if name, ok := i.names[old]; ok {
		return name, nil
	}
	name := old
	if !fits(name) {
		name = alike(old)
	}
	if !fits(name) {
		return "", fmt.Errorf("%s: %s: a tenant can't be named %q: 1 to 40 lower-case letters, digits and '-', beginning with a letter, and none of the system's names; rename it before the import",
			o.Place, o.title(), old)
	}
	if other, ok := i.named[name]; ok {
		return "", fmt.Errorf("%s: %s: tenants %q and %q would both be named %s; rename one before the import", o.Place, o.title(), other, old, name)
	}
	i.names[old], i.named[name] = name, old
	if name != old {
		i.log.add(Note{Tenant: name, Verdict: Changed, Place: o.Place, Object: "Tenant " + name,
			What: fmt.Sprintf("was named %s, which no namespace can be named: its home namespace is %s, and what it makes begins with %s-", old, name, name)})
	}
	return name, nil
}

// neighbours tells of Tenants that don't stand beside each other in one cluster.
func (i *importer) neighbours(all []Tenant) {
	for _, b := range all {
		for _, a := range all {
			if a.Tenant.Name == b.Tenant.Name || !i.meet(a, b) {
				continue
			}
			i.namesOf(a, b)
			i.namespacesOf(a, b)
			i.domainsOf(a, b)
		}
	}
}

// meet tells whether two tenants are in one environment.
func (i *importer) meet(a, b Tenant) bool {
	return a.Environments == nil || b.Environments == nil ||
		slices.ContainsFunc(a.Environments, func(e string) bool { return slices.Contains(b.Environments, e) })
}

func (i *importer) about(t Tenant, field, format string, args ...any) {
	name := t.Tenant.Name
	i.log.add(Note{Tenant: name, Verdict: Do, Place: i.places[name], Object: "Tenant " + name, Field: field, What: fmt.Sprintf(format, args...)})
}

func (i *importer) namesOf(a, b Tenant) {
	if strings.HasPrefix(b.Tenant.Name, a.Tenant.Name+"-") {
		i.about(b, "metadata.name", "begins with the name of tenant %s and '-': of the two only one stands in a cluster; rename one of them", a.Tenant.Name)
	}
}

func (i *importer) namespacesOf(a, b Tenant) {
	for _, ns := range b.Tenant.Spec.Namespaces.Declared {
		switch {
		case ns == a.Tenant.Name:
			i.about(b, "spec.namespaces.declared", "%s is the home namespace of tenant %s: move what is in it, and take it out of one of them", ns, ns)
		case strings.HasPrefix(ns, a.Tenant.Name+"-"):
			i.about(b, "spec.namespaces.declared", "%s fits the names of tenant %s: give it another name, or give it to that tenant", ns, a.Tenant.Name)
		case slices.Contains(a.Tenant.Spec.Namespaces.Declared, ns) && a.Tenant.Name < b.Tenant.Name:
			i.about(b, "spec.namespaces.declared", "%s is declared by tenant %s too: take it out of one of them", ns, a.Tenant.Name)
		}
	}
}

func (i *importer) domainsOf(a, b Tenant) {
	for _, mine := range b.Tenant.Spec.Domains {
		for _, other := range a.Tenant.Spec.Domains {
			below := strings.HasSuffix(mine, "."+other)
			if below || mine == other && a.Tenant.Name < b.Tenant.Name {
				i.about(b, "spec.domains", "%s is of tenant %s too, or below a domain of it: two tenants have no domain in common; take it out of one of them", mine, a.Tenant.Name)
			}
		}
	}
}
