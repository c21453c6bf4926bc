// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

const (
	helmGroup = "helm.toolkit.fluxcd.io"
	generator = "tenant-generator"
)

// chartTenant is a tenant of the chart in a cluster.
type chartTenant struct {
	of                       *object
	field                    field
	name, namespace, cluster string
	url, path                string
}

// charts finds values of the chart: as a document, in a HelmRelease, or in a patch of
// one that a Kustomization makes.
func (t *tmc) charts(o *object) error {
	switch {
	case o.is(tmcGroup, "Values"):
		o.claim("")
		return t.values(o, o.top())
	case o.is(helmGroup, "HelmRelease") && (o.name == generator || o.at("spec", "chart", "spec", "chart").peek() == generator):
		o.claim("")
		o.only("values")
		o.tell(Changed, "the chart is not needed any more: Tenants take the place of its values")
		return t.values(o, o.at("spec", "values"))
	case o.is(kustomizeGroup, "Kustomization"):
		return t.patches(o)
	}
	return nil
}

// values reads the three shapes that the chart had.
func (t *tmc) values(o *object, f field) error {
	f.get("cluster_type").done()
	groups := []struct{ tenants, cluster field }{
		{f.get("tenants"), f.get("cluster_name")},
		{f.get("workload_cluster").get("tenants"), f.get("workload_cluster").get("cluster_name")},
		{f.get("infra_cluster").get("tenants"), field{}},
	}
	for _, g := range groups {
		for _, entry := range g.tenants.list() {
			if err := t.entry(o, entry, g.cluster); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry is one tenant of the chart, in one cluster or in several.
func (t *tmc) entry(o *object, f, cluster field) error {
	name, of := f.get("name").peek(), f.get("workspace").peek()
	if of == "" {
		of = name
	}
	if name == "" {
		f.tell(Do, "is a tenant without a name: name it and import again")
		return nil
	}
	w, err := t.space(of, o)
	if err != nil {
		return err
	}
	f.get("name").done()
	f.get("workspace").done()
	ct := chartTenant{of: o, field: f, name: name, namespace: f.get("namespace").text()}
	if ct.namespace == "" {
		ct.namespace = name
	}
	ct.url, _ = gitAddress(f.get("git_repo_url"))
	if own := f.get("cluster_name"); own.found {
		cluster = own
	}
	many := f.get("clusters").list()
	for _, c := range many {
		name := c.get("name").text()
		w.chart(ct, name, name)
	}
	if len(many) > 0 {
		o.tellFor(w.name, f.path, Do, "the tenant makes namespaces through TMC: set spec.namespaces.selfService, and write plain Namespaces named %s-... into its repository", w.name)
		return nil
	}
	cluster.done()
	w.chart(ct, cluster.peek(), o.Environment)
	return nil
}

// chart puts the tenant into a cluster: the folder of its repository is the cluster's
// name, for which the chart may have had a variable.
func (w *workspace) chart(ct chartTenant, folder, environment string) {
	for _, v := range []string{"${cluster_name}", "$cluster_name"} {
		if environment != "" {
			folder = strings.ReplaceAll(folder, v, environment)
		}
	}
	if strings.Contains(folder, "$") || folder == "" {
		ct.of.tellFor(w.name, ct.field.path, Do, "names its cluster with a variable, or not at all, so its path is not known: no sync is made; write spec.syncs")
		ct.url = ""
		folder = ""
	}
	ct.path = "./clusters/" + folder
	ct.cluster = environment
	if ct.cluster == "" {
		ct.cluster = folder
	}
	w.put(ct.cluster, ct.namespace, ct.of)
	w.charts = append(w.charts, ct)
}

// chart makes the sync that the chart made.
func (d *draft) chart(ct chartTenant) {
	if ct.url == "" {
		return
	}
	s := v1alpha1.Sync{Name: ct.name, Path: ct.path, Source: v1alpha1.Source{Git: &v1alpha1.GitSource{URL: ct.url}}}
	if at := slices.IndexFunc(d.spec.Syncs, func(o v1alpha1.Sync) bool { return o.Name == s.Name }); at >= 0 {
		if !apiequality.Semantic.DeepEqual(d.spec.Syncs[at], s) {
			ct.of.tellFor(d.name, ct.field.path, Lost, "there is another tenant %s in %s: this one's sync is left out; write it into spec.syncs by another name", ct.name, d.environment)
		}
		return
	}
	if !labelName.MatchString(s.Name) || len(s.Name) > 63 || len(ct.path) > 512 || strings.Contains(ct.path, "..") || len(d.spec.Syncs) >= 32 {
		ct.field.tell(Lost, "can't be a sync, which has a name of 63 letters and a path within its source: write spec.syncs")
		return
	}
	d.spec.Syncs = append(d.spec.Syncs, s)
	slices.SortFunc(d.spec.Syncs, func(a, b v1alpha1.Sync) int { return strings.Compare(a.Name, b.Name) })
	ct.of.tellFor(d.name, ct.field.path, Do, "the chart left out clusters/*/namespaces of the repository and a sync takes all of %s: remove TMCNamespaces from there before the Tenant comes", ct.path)
}
