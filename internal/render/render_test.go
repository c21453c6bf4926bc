// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/schema"
	"github.com/tenantry/tenantry/internal/tree"
)

func TestX(t *testing.T) {
	kinds, err := schema.For(schema.Newest)
	if err != nil {
		t.Fatal(err)
	}
	f := &render.Fleet{Root: build.New(tree.New("../../examples/fleet")), Kinds: kinds, Now: time.Now(), Whole: true, At: map[string]*build.Builder{
		"https://git.example.com/oil/apps": build.New(tree.New("../../examples/tenants/oil")),
		"https://git.example.com/gas/apps": build.New(tree.New("../../examples/tenants/gas")),
	}}
	start := time.Now()
	c := f.Cluster("staging")
	fmt.Println(time.Since(start))
	for _, o := range c.Objects {
		if o.Tenant() != nil || o.Compiled || o.Kind == "Kustomization" {
			fmt.Println(o.ID, o.At(), o.Account(), o.Compiled)
		}
	}
	for _, p := range c.Problems {
		fmt.Println(p)
	}
	for _, p := range c.Releases {
		fmt.Println(p.Name, p.Namespace, p.Why, p.Chart)
	}
	fmt.Println(c.Absent)
}
