// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"maps"
	"slices"
)

// policy carries over what a Tenant can say, and tells what Tenantry does anyway.
func (t *tmc) policy(o *object) {
	o.claim("")
	if o.builtIn() {
		return
	}
	drafts, ok := t.governed(o)
	if !ok {
		o.settle("", Lost, "is for cluster groups or for namespaces that are no workspace's whole: say in each Tenant what of it must hold")
		return
	}
	spec := o.at("spec")
	kind, recipe := spec.get("type").peek(), spec.get("recipe").peek()
	read := map[string]func(*draft, *object, field) bool{
		"image-policy custom":            imagePolicy,
		"namespace-quota-policy custom":  quotaPolicy,
		"security-policy baseline":       securityPolicy,
		"security-policy strict":         securityPolicy,
		"network-policy deny-all":        networkPolicy,
		"network-policy deny-all-egress": networkPolicy,
	}[kind+" "+recipe]
	if read == nil {
		o.settle("", Lost, "a Tenant has nothing like recipe %s of %s: see spec.quota, spec.limits, spec.network.policies and spec.allow for what is needed", recipe, kind)
		return
	}
	for _, key := range []string{"type", "recipe", "recipeVersion"} {
		spec.get(key).done()
	}
	o.named()
	for _, d := range drafts {
		if !read(d, o, spec.get("input")) {
			return
		}
	}
}

// governed are the tenants whose every namespace a policy is for: those of its workspace,
// or those that its selector names.
func (t *tmc) governed(o *object) ([]*draft, bool) {
	own := t.names[o.scope()]
	selector := o.at("spec", "namespaceSelector")
	if selector.blank() {
		if own == "" {
			return nil, false
		}
		o.tenant = own
		return t.all([]string{own}), true
	}
	names := t.selected(selector)
	if own != "" && slices.Contains(names, own) {
		names = []string{own}
	}
	if own != "" && !slices.Equal(names, []string{own}) {
		return nil, false
	}
	if o.at("fullName", "clusterGroupName").peek() != "" {
		o.tellOf("fullName.clusterGroupName", Stricter, "was for one group of clusters: it holds in all that the tenants are in; change it in the overlays of the others")
	}
	return t.all(names), len(names) > 0
}

// selected are the workspaces that a selector of namespaces names by their label, when it
// names nothing else.
func (t *tmc) selected(f field) []string {
	terms := f.get("matchExpressions").list()
	if len(terms) != 1 || !f.get("matchLabels").blank() || terms[0].get("key").peek() != workspaceLabel {
		return nil
	}
	term := terms[0]
	var names []string
	switch term.get("operator").peek() {
	case "Exists":
		names = slices.Sorted(maps.Keys(t.spaces))
	case "In":
		for _, v := range term.get("values").list() {
			if w := t.names[v.peek()]; t.spaces[w] != nil {
				names = append(names, w)
				v.done()
			}
		}
	}
	term.get("key").done()
	term.get("operator").done()
	return names
}

func (t *tmc) all(names []string) []*draft {
	var drafts []*draft
	for _, n := range names {
		drafts = append(drafts, t.draftsOf(n)...)
	}
	return drafts
}
