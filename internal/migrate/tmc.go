// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// tmcGroup is the group given to documents of the tanzu CLI, which have none.
const tmcGroup = "tmc"

// workspaceLabel names the workspace on its namespaces.
const workspaceLabel = "tmc.cloud.vmware.com/workspace"

// TMC imports workspaces of Tanzu Mission Control with their namespaces, role bindings
// and policies, as files of the tanzu CLI have them, and the tenants in values of the
// chart tenant-generator. Sources, Kustomizations and bindings in the namespaces of
// workspaces are read as Flux reads them. An environment is a cluster.
func TMC(docs []Document) (Result, error) {
	i, err := open(docs)
	if err != nil {
		return Result{}, fmt.Errorf("import tmc: %w", err)
	}
	t := &tmc{importer: i, spaces: map[string]*workspace{}}
	if err := t.read(); err != nil {
		return Result{}, fmt.Errorf("import tmc: %w", err)
	}
	r, err := i.close()
	if err != nil {
		return Result{}, fmt.Errorf("import tmc: %w", err)
	}
	return r, nil
}

// tmc is an import that goes on.
type tmc struct {
	*importer
	spaces map[string]*workspace
}

// workspace is what becomes a Tenant.
type workspace struct {
	name   string
	origin *object
	// namespaces by cluster, each with the document that says so.
	namespaces map[string]map[string]*object
	charts     []chartTenant
}

func (t *tmc) read() error {
	t.environments = map[string]bool{}
	t.identify()
	if err := t.find(); err != nil {
		return err
	}
	if len(t.spaces) == 0 {
		return errors.New("no tenant found: looked for workspaces, namespaces with a workspaceName, TMCNamespace, and values of the chart tenant-generator; tanzu tmc workspace get -o yaml writes one")
	}
	t.start()
	for _, o := range t.objects {
		t.document(o)
	}
	return t.kubernetes()
}

// find makes a workspace of each that a document is of.
func (t *tmc) find() error {
	for _, o := range t.objects {
		var err error
		switch {
		case o.is(tmcGroup, "Workspace"):
			_, err = t.space(o.name, o)
		case o.is(tmcGroup, "Namespace"):
			err = t.namespace(o, o.top())
		case o.kind == "TMCNamespace":
			err = t.namespace(o, o.at("spec"))
		default:
			err = t.charts(o)
		}
		if err != nil {
			return err
		}
	}
	for _, o := range t.objects {
		if w := t.holder(o); w != nil && o.Environment != "" {
			w.put(o.Environment, "", o)
		}
	}
	return nil
}

// holder is the workspace that an object of Kubernetes lies in; nil for none.
func (t *tmc) holder(o *object) *workspace {
	ns := o.namespace
	if o.is("", "Namespace") {
		ns = o.name
	}
	if ns == "" || o.group == tmcGroup || o.kind == "TMCNamespace" {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(t.spaces)) {
		if name == ns || t.spaces[name].holds(ns) {
			return t.spaces[name]
		}
	}
	return nil
}

func (w *workspace) holds(ns string) bool {
	for _, all := range w.namespaces {
		if _, ok := all[ns]; ok {
			return true
		}
	}
	return false
}

// start drafts each workspace in its clusters; one of which none is known is in all.
func (t *tmc) start() {
	known := map[string]bool{}
	for _, w := range t.spaces {
		for _, c := range w.clusters() {
			known[c] = true
		}
	}
	all := slices.Sorted(maps.Keys(known))
	if len(all) == 0 {
		all = []string{""}
	}
	for _, name := range slices.Sorted(maps.Keys(t.spaces)) {
		w := t.spaces[name]
		mine := w.clusters()
		if len(mine) == 0 {
			mine = all
		}
		for _, c := range mine {
			d := t.draft(c, w.name, w.origin)
			t.fill(d, w, c)
		}
	}
}

// fill gives a draft the namespaces and syncs of its cluster.
func (t *tmc) fill(d *draft, w *workspace, cluster string) {
	for _, c := range []string{"", cluster} {
		for _, ns := range slices.Sorted(maps.Keys(w.namespaces[c])) {
			o := w.namespaces[c][ns]
			d.declare(o.top(), ns)
			d.bounds.at(ns)
			if o.is(tmcGroup, "Namespace") || o.kind == "TMCNamespace" {
				o.tell(Do, "namespace %s stands already: hand it over before the Tenant comes, with kubectl label namespace %s tenantry.dev/tenant=%s, and detach it from the workspace", ns, ns, d.name)
			}
		}
	}
	for _, ct := range w.charts {
		if ct.cluster == cluster || ct.cluster == "" {
			d.chart(ct)
		}
	}
}

// draftsOf are the drafts of a workspace, in each of its clusters.
func (t *tmc) draftsOf(name string) []*draft {
	var all []*draft
	for _, env := range t.in() {
		if d := t.drafts[env][name]; d != nil {
			all = append(all, d)
		}
	}
	return all
}

// kubernetes reads the objects of workspaces' namespaces as those of Flux's tenants.
func (t *tmc) kubernetes() error {
	for _, env := range t.in() {
		c := t.cluster(env)
		for _, name := range slices.Sorted(maps.Keys(t.spaces)) {
			c.tenants[name] = name
			for _, cluster := range []string{"", env} {
				for ns := range t.spaces[name].namespaces[cluster] {
					c.tenants[ns] = name
				}
			}
		}
		if err := c.take(); err != nil {
			return err
		}
	}
	return nil
}
