// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"github.com/tenantry/tenantry/api/v1alpha1"
)

func (c *cluster) substitutes(d *draft, o *object, s *v1alpha1.Sync, f field) {
	vars := f.get("substitute").entries()
	if len(vars) > 128 {
		f.get("substitute").tell(Lost, "a sync has 128 variables at most: they are left out; put them into a ConfigMap and name it in substituteFrom")
		vars = nil
	}
	for _, v := range vars {
		text, ok := v.value.(string)
		if !ok {
			continue
		}
		if s.Substitute == nil {
			s.Substitute = map[string]string{}
		}
		s.Substitute[v.key] = text
		v.done()
	}
	for _, from := range f.get("substituteFrom").list() {
		kind, name := from.get("kind").peek(), from.get("name").peek()
		if kind != "ConfigMap" && kind != "Secret" || name == "" || len(name) > 253 || len(s.SubstituteFrom) >= 16 {
			from.tell(Lost, "is no ConfigMap or Secret that a sync can name, of 16 at most: it is left out")
			continue
		}
		from.get("kind").done()
		from.get("name").done()
		s.SubstituteFrom = append(s.SubstituteFrom, v1alpha1.SubstituteReference{Kind: kind, Name: name, Optional: from.get("optional").flag(false)})
		c.want(d, from, kind, o.namespace, name)
	}
}

func (c *cluster) decrypt(d *draft, o *object, s *v1alpha1.Sync, f field) {
	if !f.found {
		return
	}
	ref := f.get("secretRef").get("name")
	if provider := f.get("provider").peek(); provider != "sops" || ref.peek() == "" || len(ref.peek()) > 253 {
		f.tell(Lost, "a sync decrypts with sops and a Secret: it is left out; name a Secret with the keys in spec.syncs[].decryption")
		return
	}
	f.get("provider").done()
	s.Decryption = &v1alpha1.Decryption{SecretRef: v1alpha1.LocalReference{Name: ref.text()}}
	c.want(d, ref, "Secret", o.namespace, ref.peek())
}

// want tells of an object that a sync names and that has to be in the home namespace.
func (c *cluster) want(d *draft, f field, kind, ns, name string) {
	c.wanted[kind+"/"+ns+"/"+name] = d.name
	if ns != d.name {
		f.of.tellFor(d.name, f.path, Do, "%s %s is looked for in the home namespace: put it there, from %s/%s to %s/%s", kind, name, ns, name, d.name, name)
	}
}
