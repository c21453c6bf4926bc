// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"maps"
	"slices"
)

func (t *tmc) space(name string, o *object) (*workspace, error) {
	made, err := t.tenantName(name, o)
	if err != nil {
		return nil, err
	}
	w := t.spaces[made]
	if w == nil {
		w = &workspace{name: made, origin: o, namespaces: map[string]map[string]*object{}}
		t.spaces[made] = w
	}
	if o.is(tmcGroup, "Workspace") {
		w.origin = o
	}
	return w, nil
}

// namespace puts one into its workspace. It reads a document of the CLI, or the spec of
// a TMCNamespace, which has the same within.
func (t *tmc) namespace(o *object, f field) error {
	full := f.get("fullName")
	of := f.get("spec").get("workspaceName")
	if of.peek() == "" {
		of = full.get("workspaceName")
	}
	name := full.get("name").peek()
	if of.peek() == "" || name == "" {
		return nil
	}
	w, err := t.space(of.peek(), o)
	if err != nil {
		return err
	}
	o.claim(w.name)
	for _, at := range []field{of, full.get("name"), full.get("clusterName")} {
		at.done()
	}
	f.get("type").done()
	w.put(full.get("clusterName").peek(), name, o)
	return nil
}

func (w *workspace) put(cluster, ns string, o *object) {
	if w.namespaces[cluster] == nil {
		w.namespaces[cluster] = map[string]*object{}
	}
	if ns != "" {
		w.namespaces[cluster][ns] = o
	}
}

// clusters are those that the workspace is known to be in.
func (w *workspace) clusters() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.namespaces)), func(c string) bool { return c == "" })
}
