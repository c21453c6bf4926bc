// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"github.com/tenantry/tenantry/api/v1alpha1"
)

// source is what a sync fetches: the source that its Kustomization names, which may be
// shared with others and is the sync's own from now on.
func (c *cluster) source(d *draft, o *object, ref field) (v1alpha1.Source, bool) {
	ref.get("apiVersion").done()
	kind, ns, name := ref.get("kind").peek(), ref.get("namespace").peek(), ref.get("name").peek()
	if ns == "" {
		ns = o.namespace
	}
	src := c.byID[sourceGroup+"/"+kind+"/"+ns+"/"+name]
	if src == nil || !isSource(src) {
		ref.tell(Do, "%s %s/%s is not among the documents: import it too, or write the sync by hand", kind, ns, name)
		o.tell(Lost, "a sync has its own source and this one's is not known: it is left out")
		return v1alpha1.Source{}, false
	}
	for _, key := range []string{"kind", "namespace", "name"} {
		ref.get(key).done()
	}
	if c.tenants[ns] != d.name {
		o.tellOf(ref.path, Changed, "the source was shared: the sync has a copy of %s now, of its own", src.title())
	}
	src.claim(c.tenants[ns])
	s, ok := c.copySource(d, src)
	if !ok {
		o.tell(Lost, "its source can't be carried over: the sync is left out; mend %s and import again, or write the sync by hand", src.title())
	}
	return s, ok
}

func (c *cluster) copySource(d *draft, src *object) (v1alpha1.Source, bool) {
	spec := src.at("spec")
	if spec.get("suspend").flag(false) {
		spec.get("suspend").tell(Do, "was suspended, and fetches as soon as the Tenant is applied: take the sync out until it may")
	}
	spec.get("insecure").unless(false)
	common := v1alpha1.SourceCommon{
		SecretRef: c.credentials(d, src, spec.get("secretRef").get("name")),
		Interval:  duration(spec.get("interval"), "1m"),
	}
	switch src.kind {
	case "GitRepository":
		g, ok := c.git(d, src, spec, common)
		return v1alpha1.Source{Git: g}, ok
	case "OCIRepository":
		a, ok := c.oci(d, src, spec, common)
		return v1alpha1.Source{OCI: a}, ok
	default:
		b, ok := bucket(spec, common)
		return v1alpha1.Source{Bucket: b}, ok
	}
}

func (c *cluster) credentials(d *draft, src *object, f field) *v1alpha1.LocalReference {
	name := f.peek()
	if name == "" || len(name) > 253 {
		return nil
	}
	f.done()
	c.want(d, f, "Secret", src.namespace, name)
	return &v1alpha1.LocalReference{Name: name}
}
