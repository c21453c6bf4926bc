// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// importer holds what is read and what comes of it, while it goes on.
type importer struct {
	log     *notes
	objects []*object
	// drafts by environment and name.
	drafts map[string]map[string]*draft
	// names as Tenantry has them, and whose they are.
	names, named map[string]string
	// places of tenants.
	places map[string]string
	// environments that anything was found in.
	environments map[string]bool
}

func open(docs []Document) (*importer, error) {
	i := &importer{
		log: &notes{}, drafts: map[string]map[string]*draft{},
		names: map[string]string{}, named: map[string]string{}, places: map[string]string{}, environments: map[string]bool{},
	}
	for _, d := range docs {
		if len(d.Object) == 0 {
			continue
		}
		o, err := parse(d, i.log)
		if err != nil {
			return nil, err
		}
		i.objects = append(i.objects, o)
		i.environments[d.Environment] = true
	}
	slices.SortStableFunc(i.objects, func(a, b *object) int {
		return cmp.Or(
			strings.Compare(a.Environment, b.Environment), strings.Compare(a.id(), b.id()),
			strings.Compare(a.Place, b.Place), strings.Compare(a.fingerprint(), b.fingerprint()),
		)
	})
	return i, nil
}

// in lists the environments. Documents of none hold for all, where there are any.
func (i *importer) in() []string {
	all := slices.Sorted(maps.Keys(i.environments))
	if len(all) > 1 && all[0] == "" {
		all = all[1:]
	}
	return all
}

// of is the objects of an environment.
func (i *importer) of(environment string) []*object {
	var all []*object
	for _, o := range i.objects {
		if o.Environment == environment || o.Environment == "" {
			all = append(all, o)
		}
	}
	return all
}

// draft is the tenant of that name in an environment, as it grows.
func (i *importer) draft(environment, name string, origin *object) *draft {
	if i.drafts[environment] == nil {
		i.drafts[environment] = map[string]*draft{}
	}
	if i.drafts[environment][name] == nil {
		i.environments[environment] = true
		i.drafts[environment][name] = &draft{
			name: name, environment: environment, log: i.log, origin: origin, bounds: bounds{}, bound: bindings{},
		}
	}
	return i.drafts[environment][name]
}

// close makes Tenants of the drafts and tells of what is left.
func (i *importer) close() (Result, error) {
	r := Result{}
	names := map[string]bool{}
	for _, drafts := range i.drafts {
		for name := range drafts {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		t, err := i.combine(name)
		if err != nil {
			return Result{}, err
		}
		r.Tenants = append(r.Tenants, t)
	}
	i.neighbours(r.Tenants)
	for _, o := range i.objects {
		if o.claimed {
			o.leftovers()
		} else {
			o.tell(Lost, "is not of a tenant: left alone")
		}
	}
	r.Notes = i.log.sorted()
	return r, nil
}

// combine makes one Tenant of what it is in each environment.
func (i *importer) combine(name string) (Tenant, error) {
	var drafts []*draft
	var environments []string
	for _, env := range i.in() {
		if d := i.drafts[env][name]; d != nil {
			drafts = append(drafts, d)
			environments = append(environments, env)
		}
	}
	if len(drafts) == 0 {
		return Tenant{}, fmt.Errorf("tenant %s: found in no environment", name)
	}
	i.places[name] = drafts[0].origin.Place
	for _, d := range drafts {
		d.finish()
	}
	spec, err := merge(drafts)
	if err != nil {
		return Tenant{}, err
	}
	t := Tenant{Tenant: &v1alpha1.Tenant{Spec: spec}}
	t.Tenant.APIVersion, t.Tenant.Kind = v1alpha1.GroupVersion.String(), "Tenant"
	t.Tenant.Name = name
	t.Syncs = apart(drafts)
	if t.Syncs == nil {
		t.Tenant.Spec.Syncs = drafts[0].spec.Syncs
	}
	if environments[0] != "" {
		t.Environments = environments
	}
	return t, nil
}
