// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"
)

// OverlaysFor finds overlays by what people call them: clusters, groups, and environments,
// which are overlays by name or path. Nothing named means every overlay but those that
// build on another. A cluster that has no overlay of its own is given one.
func (f *Fleet) OverlaysFor(clusters, groups, environments []string) ([]string, error) {
	all, err := f.named(clusters, groups, environments, f.overlayOf)
	if err != nil {
		return nil, err
	}
	if len(clusters)+len(groups)+len(environments) == 0 {
		for _, o := range f.Overlays {
			if !f.buildsOnAnother(o.Path) {
				all = append(all, o.Path)
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no cluster of the fleet gets tenants: want a Flux Kustomization with a path below tenants/, as `tenantry group create` writes it")
	}
	return all, nil
}

// OverlaysOf are overlays that a tenant lives in, by what people call them. It makes
// none, and refuses one that the tenant is not in.
func (f *Fleet) OverlaysOf(t *Tenant, clusters, groups, environments []string) ([]string, error) {
	all, err := f.named(clusters, groups, environments, func(cluster string) (string, error) {
		c := f.cluster(cluster)
		if c == nil {
			return "", f.noCluster(cluster)
		}
		for _, o := range f.Overlays {
			if slices.Equal(o.Clusters, []string{cluster}) {
				return o.Path, nil
			}
		}
		return "", fmt.Errorf("cluster %s shares its tenants with others (%s): name the group instead", cluster, strings.Join(c.Overlays, ", "))
	})
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if !slices.ContainsFunc(t.Places, func(p Place) bool { return p.Path == o }) {
			return nil, fmt.Errorf("tenant %s does not live in %s", t.Name, o)
		}
	}
	return all, nil
}

func (f *Fleet) named(clusters, groups, environments []string, ofCluster func(string) (string, error)) ([]string, error) {
	var all []string
	for _, name := range clusters {
		o, err := ofCluster(name)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	for _, name := range groups {
		g := f.group(name)
		switch {
		case g == nil:
			return nil, f.noGroup(name)
		case !slices.Contains(g.Parts, Tenants):
			return nil, fmt.Errorf("group %s has no tenants: enable them with `tenantry group enable %s tenants`", name, name)
		}
		all = append(all, path.Join(tenantsDir, name))
	}
	for _, name := range environments {
		o, err := f.environment(name)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// environment is the overlay of that name or path.
func (f *Fleet) environment(name string) (string, error) {
	var names, found []string
	for _, o := range f.Overlays {
		if o.Name == name || o.Path == path.Clean(name) {
			found = append(found, o.Path)
		}
		names = append(names, o.Name)
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("the fleet has no environment %s; it has %s", name, strings.Join(names, ", "))
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("several environments are named %s: say which by its path, %s", name, strings.Join(found, " or "))
	}
}

// buildsOnAnother tells whether an overlay has another among its resources.
func (f *Fleet) buildsOnAnother(dir string) bool {
	documents, err := f.tree.Documents(f.tree.KustomizationIn(dir))
	if err != nil || len(documents) == 0 {
		return false
	}
	for _, r := range tree.Items(documents[0], "resources") {
		target := path.Join(dir, r.Value)
		if slices.ContainsFunc(f.Overlays, func(o Overlay) bool { return o.Path == target }) {
			return true
		}
	}
	return false
}
