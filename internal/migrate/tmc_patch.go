// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// only counts as read all of an object but a field of its spec.
func (o *object) only(key string) {
	for _, f := range o.top().entries() {
		if f.key != "spec" {
			f.done()
		}
	}
	for _, f := range o.at("spec").entries() {
		if f.key != key {
			f.done()
		}
	}
}

// patches reads values that a Kustomization puts into the HelmRelease of the chart.
func (t *tmc) patches(o *object) error {
	for _, p := range o.at("spec", "patches").list() {
		target := p.get("target")
		if target.get("kind").peek() != "HelmRelease" || target.get("name").peek() != generator {
			continue
		}
		o.claim("")
		o.only("patches")
		o.tell(Changed, "the chart is not needed any more: Tenants take the place of its values")
		target.done()
		if err := t.patch(o, p.get("patch")); err != nil {
			return err
		}
	}
	return nil
}

// patch reads the operations of a JSON patch that set values. They are text within the
// object, so what is in them is an object of its own.
func (t *tmc) patch(o *object, f field) error {
	operations, ok := operations(f.peek())
	if !ok {
		f.tell(Do, "is no list of operations, so the tenants in it are not known: correct the patch and import again")
		return nil
	}
	f.done()
	for n, op := range operations {
		values, ok := op["value"].(map[string]any)
		if path, _ := op["path"].(string); path != "/spec/values" || !ok {
			o.tellOf(fmt.Sprintf("%s[%d]", f.path, n), Lost, "sets something else than the values of the chart: it is left out")
			continue
		}
		inner, err := parse(Document{Place: o.Place, Environment: o.Environment, Object: values}, t.log)
		if err != nil {
			return err
		}
		inner.kind, inner.name = "Values", o.name
		inner.claim("")
		if err := t.values(inner, inner.top()); err != nil {
			return err
		}
		t.objects = append(t.objects, inner)
	}
	return nil
}

func operations(text string) ([]map[string]any, bool) {
	var all []map[string]any
	err := yaml.Unmarshal([]byte(text), &all)
	return all, err == nil
}
