// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"

	"golang.org/x/sync/errgroup"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// EnvVariable in the path of a sync stands for the name of the overlay.
const EnvVariable = "{env}"

// Onboarding is a tenant to be, and where.
type Onboarding struct {
	// Tenant as it is everywhere. It may hold no more than a name, for a tenant that
	// the fleet has: it is then given further places.
	Tenant *v1alpha1.Tenant
	// Overlays are the paths of the overlays that it lives in.
	Overlays []string
	// Syncs differ between overlays: EnvVariable in their paths is the overlay's name.
	Syncs []v1alpha1.Sync
	// SyncsIn are the syncs of an overlay by its path, where they differ in more.
	SyncsIn map[string][]v1alpha1.Sync
}

// Tenant is the tenant of that name, or nil.
func (f *Fleet) Tenant(name string) *Tenant {
	i, ok := slices.BinarySearchFunc(f.Tenants, name, func(t Tenant, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &f.Tenants[i]
}

// NoTenant says that there is none of that name.
func (f *Fleet) NoTenant(name string) error {
	return fmt.Errorf("the fleet %s has no tenant %s; `tenantry tenant list` shows those it has", f.Dir, name)
}

// CreateTenant writes a tenant's base and registers it in its overlays. What is there
// already, and is the same, is left alone.
func (f *Fleet) CreateTenant(o Onboarding) error {
	name := o.Tenant.Name
	if name == "" {
		return errors.New("the tenant has no name")
	}
	f.arriving[name] = true
	if there := f.Tenant(name); there != nil {
		return f.place(there, o)
	}
	dir := path.Join(baseDir, name)
	if f.tree.IsDir(dir) {
		return fmt.Errorf("%s is there, and holds no Tenant %s: choose another name, or finish what it holds", f.tree.Full(dir), name)
	}
	content, err := tenantFile(o.Tenant)
	if err != nil {
		return err
	}
	f.tree.Put(path.Join(dir, "tenant.yaml"), content)
	if err := scaffoldedFile(f.tree, "base/kustomization.yaml", path.Join(dir, "kustomization.yaml"), nil); err != nil {
		return err
	}
	if f.tree.IsFile(path.Join(baseDir, ".gitkeep")) {
		f.tree.Remove(path.Join(baseDir, ".gitkeep"))
	}
	var g errgroup.Group // long lists take a while to print
	for _, overlay := range o.Overlays {
		g.Go(func() error { return f.enter(overlay, dir, name, o.syncsFor(overlay)) })
	}
	return g.Wait()
}

// syncsFor are the syncs of an overlay that are not those of the base.
func (o Onboarding) syncsFor(overlay string) []v1alpha1.Sync {
	if syncs, ok := o.SyncsIn[overlay]; ok {
		return syncs
	}
	var all []v1alpha1.Sync
	for _, s := range o.Syncs {
		s.Path = strings.ReplaceAll(s.Path, EnvVariable, path.Base(overlay))
		all = append(all, s)
	}
	return all
}

// enter registers a tenant in an overlay, with a patch for syncs of its own there.
func (f *Fleet) enter(overlay, base, name string, syncs []v1alpha1.Sync) error {
	resource, err := relative(overlay, base)
	if err != nil {
		return err
	}
	if len(syncs) == 0 {
		return register(f.tree, overlay, resource)
	}
	patch := &v1alpha1.Tenant{}
	patch.Name, patch.Spec.Syncs = name, syncs
	content, err := tenantFile(patch)
	if err != nil {
		return err
	}
	file := name + "-patch.yaml"
	if f.tree.IsFile(path.Join(overlay, file)) {
		return fmt.Errorf("%s is there already: move it away", f.tree.Full(path.Join(overlay, file)))
	}
	f.tree.Put(path.Join(overlay, file), content)
	return register(f.tree, overlay, resource, file)
}

// place gives a tenant that the fleet has the places that it lacks.
func (f *Fleet) place(t *Tenant, o Onboarding) error {
	if err := f.sameAs(t, o); err != nil {
		return err
	}
	for _, overlay := range o.Overlays {
		if slices.ContainsFunc(t.Places, func(p Place) bool { return p.Path == overlay }) {
			continue
		}
		syncs := o.syncsFor(overlay)
		if len(syncs) == 0 {
			var err error
			if syncs, err = f.syncsElsewhere(t, path.Base(overlay)); err != nil {
				return err
			}
		}
		if err := f.enter(overlay, path.Dir(t.File), t.Name, syncs); err != nil {
			return err
		}
	}
	return nil
}

// sameAs refuses to make a tenant that is there and is another.
func (f *Fleet) sameAs(t *Tenant, o Onboarding) error {
	if len(t.declared) > 1 {
		return fmt.Errorf("tenant %s is declared in %s and elsewhere: change those files", t.Name, f.tree.Full(t.File))
	}
	wanted := o.Tenant.DeepCopy()
	if reflect.DeepEqual(wanted.Spec, v1alpha1.TenantSpec{}) && len(o.Syncs) == 0 && o.SyncsIn == nil {
		return nil
	}
	there, err := f.decode(t.declared[0])
	if err != nil {
		return err
	}
	same := sameSpec(there, wanted)
	for _, p := range t.Places {
		wanted.Spec.Syncs = append(slices.Clone(o.Tenant.Spec.Syncs), o.syncsFor(p.document.overlay)...)
		got, err := f.decode(p.document)
		if err != nil {
			return err
		}
		same = same && sameSpec(got, wanted)
	}
	if same {
		return nil
	}
	return fmt.Errorf("the fleet has a tenant %s that is not the same (%s:%d): change it there or with `tenantry tenant owner|namespace`, or delete it first", t.Name, f.tree.Full(t.File), t.Line)
}

func sameSpec(a, b *v1alpha1.Tenant) bool {
	x, errX := json.Marshal(a.Spec)
	y, errY := json.Marshal(b.Spec)
	return errX == nil && errY == nil && string(x) == string(y)
}

// syncsElsewhere are the syncs that a tenant's patch gives it in another overlay, with
// that overlay's name in their paths changed to this one's.
func (f *Fleet) syncsElsewhere(t *Tenant, overlay string) ([]v1alpha1.Sync, error) {
	base, err := f.decode(t.declared[0])
	if err != nil || len(base.Spec.Syncs) > 0 || len(t.Places) == 0 {
		return nil, err
	}
	there, err := f.decode(t.Places[0].document)
	if err != nil {
		return nil, err
	}
	syncs := there.Spec.Syncs
	for i := range syncs {
		parts := strings.Split(syncs[i].Path, "/")
		for j := range parts {
			if parts[j] == t.Places[0].Overlay {
				parts[j] = overlay
			}
		}
		syncs[i].Path = strings.Join(parts, "/")
	}
	return syncs, nil
}

// decode is a tenant with its patches.
func (f *Fleet) decode(d document) (*v1alpha1.Tenant, error) {
	content, err := effective(f.tree, d)
	if err != nil {
		return nil, err
	}
	t := &v1alpha1.Tenant{}
	if err := sigsyaml.UnmarshalStrict(content, t); err != nil {
		return nil, &tree.Error{File: f.tree.Full(d.file), Line: d.node.Line, What: strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ")}
	}
	return t, nil
}

// Declared is a tenant as it is where no patch changes it.
func (f *Fleet) Declared(t *Tenant) (*v1alpha1.Tenant, error) { return f.decode(t.declared[0]) }

// Effective is a tenant as it is in a place.
func (f *Fleet) Effective(p Place) (*v1alpha1.Tenant, error) { return f.decode(p.document) }

// PlacesIn are the places of a tenant, or the one in the environment named.
func (f *Fleet) PlacesIn(t *Tenant, environment string) ([]Place, error) {
	if environment == "" {
		return t.Places, nil
	}
	overlays, err := f.OverlaysOf(t, nil, nil, []string{environment})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(t.Places, func(p Place) bool { return p.Path == overlays[0] })
	return t.Places[i : i+1], nil
}

// tenantFile is the text of a Tenant, without what is empty.
func tenantFile(t *v1alpha1.Tenant) ([]byte, error) {
	t = t.DeepCopy()
	t.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Tenant"))
	t.Status = v1alpha1.TenantStatus{}
	content, err := sigsyaml.Marshal(t)
	if err != nil {
		return nil, err
	}
	return tree.Reindented(content)
}

// relative is a path as a kustomization in dir names it.
func relative(dir, target string) (string, error) {
	up := ""
	for !strings.HasPrefix(target+"/", dir+"/") {
		if dir == "." || dir == "" {
			return "", fmt.Errorf("%s is not in the fleet", target)
		}
		up, dir = up+"../", path.Dir(dir)
		if dir == "." {
			return up + target, nil
		}
	}
	return up + strings.TrimPrefix(strings.TrimPrefix(target, dir), "/"), nil
}
