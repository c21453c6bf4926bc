// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

func tenantNamed(name string) *v1alpha1.Tenant {
	t := &v1alpha1.Tenant{}
	t.Name = name
	t.Spec.Owners = []v1alpha1.Owner{{Kind: v1alpha1.OwnerGroup, Name: name + "-team"}}
	t.Spec.Namespaces.Declared = []string{"ns-" + name}
	t.Spec.Domains = []string{name + ".example.com"}
	return t
}

func syncsFrom(url string) []v1alpha1.Sync {
	return []v1alpha1.Sync{{Name: "apps", Path: "./" + EnvVariable, Source: v1alpha1.Source{Git: &v1alpha1.GitSource{URL: url}}}}
}

// largeFleet is a fleet of so many tenants in two environments, on disk.
func largeFleet(b *testing.B, tenants int) string {
	b.Helper()
	f := newFleet(b)
	dir := f.Dir
	f.Close()
	for _, overlay := range []string{"tenants/staging", "tenants/production"} {
		resources, patches := "resources:\n", "patches:\n"
		for i := range tenants {
			resources += fmt.Sprintf("  - ../base/t%05d\n", i)
			patches += fmt.Sprintf("  - path: t%05d-patch.yaml\n", i)
		}
		if err := os.WriteFile(filepath.Join(dir, overlay, "kustomization.yaml"), []byte("kind: Kustomization\n"+resources+patches), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for i := range tenants {
		o := Onboarding{Tenant: tenantNamed(fmt.Sprintf("t%05d", i)), Syncs: syncsFrom("https://git.example.com/team/apps")}
		base, err := tenantFile(o.Tenant)
		if err != nil {
			b.Fatal(err)
		}
		files := map[string][]byte{
			"tenants/base/" + o.Tenant.Name + "/tenant.yaml":        base,
			"tenants/base/" + o.Tenant.Name + "/kustomization.yaml": []byte("kind: Kustomization\nresources:\n  - tenant.yaml\n"),
		}
		for _, overlay := range []string{"tenants/staging", "tenants/production"} {
			patch := &v1alpha1.Tenant{}
			patch.Name, patch.Spec.Syncs = o.Tenant.Name, o.syncsFor(overlay)
			if files[overlay+"/"+o.Tenant.Name+"-patch.yaml"], err = tenantFile(patch); err != nil {
				b.Fatal(err)
			}
		}
		for name, content := range files {
			if err := os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	return dir
}

// BenchmarkRead reads fleets; its time per tenant does not grow.
func BenchmarkRead(b *testing.B) {
	for _, tenants := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			dir := largeFleet(b, tenants)
			for b.Loop() {
				f, err := Load(dir)
				if err != nil {
					b.Fatal(err)
				}
				if len(f.Tenants) != tenants {
					b.Fatalf("%d tenants", len(f.Tenants))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(tenants), "µs/tenant")
		})
	}
}

// BenchmarkCreate reads a fleet, adds a tenant, reads the fleet back and checks it, and
// writes; and takes the tenant out again without being timed.
func BenchmarkCreate(b *testing.B) {
	for _, tenants := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			dir := largeFleet(b, tenants)
			for b.Loop() {
				f := change(b, dir, func(f *Fleet) error {
					overlays, err := f.OverlaysFor(nil, nil, nil)
					if err != nil {
						return err
					}
					return f.CreateTenant(Onboarding{Tenant: tenantNamed("newcomer"), Overlays: overlays, Syncs: syncsFrom("https://git.example.com/new/apps")})
				})
				if f.Tenant("newcomer") == nil {
					b.Fatal("it is not there")
				}
				b.StopTimer()
				change(b, dir, func(f *Fleet) error { return f.DeleteTenant("newcomer") })
				b.StartTimer()
			}
		})
	}
}

func change(b *testing.B, dir string, do func(*Fleet) error) *Fleet {
	b.Helper()
	f, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := do(f); err != nil {
		b.Fatal(err)
	}
	if err := f.Review(func(*v1alpha1.Tenant) error { return nil }); err != nil {
		b.Fatal(err)
	}
	save(b, f)
	return f
}
