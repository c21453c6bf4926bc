// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
)

// identify names the kinds of the CLI's documents, which often don't say theirs.
func (t *tmc) identify() {
	for _, o := range t.objects {
		if o.at("apiVersion").peek() != "" {
			continue
		}
		o.group = tmcGroup
		o.name = o.at("fullName", "name").peek()
		o.kind = o.shape()
	}
	for _, o := range t.objects {
		if o.is(tmcGroup, "") {
			o.kind = t.mentioned(o)
		}
	}
}

// shape tells the kind from what is in a document; "" if that could be several.
func (o *object) shape() string {
	has := func(keys ...string) bool { return o.at(keys...).found }
	kind := o.at("type", "kind").peek()
	switch {
	case has("roleBindings"):
		return "IAMPolicy"
	case has("tenants"), has("infra_cluster"), has("workload_cluster"):
		return "Values"
	case kind != "":
		return kind
	case has("spec", "recipe"), strings.HasSuffix(o.at("spec", "type").peek(), "-policy"):
		return "Policy"
	case has("spec", "workspaceName"), has("fullName", "workspaceName") && has("fullName", "clusterName"):
		return "Namespace"
	case has("spec", "rules"), has("spec", "permissions"), has("spec", "tanzuPermissions"):
		return "Role"
	case has("spec", "clusterGroupName"):
		return "Cluster"
	case has("fullName", "clusterGroupName"):
		return "ClusterGroupObject"
	case has("fullName", "clusterName"):
		return "ClusterObject"
	}
	return ""
}

// mentioned tells a workspace from a cluster group, whose documents look alike, by the
// folder it is in or by who names it.
func (t *tmc) mentioned(o *object) string {
	place := strings.ToLower(o.Place)
	switch {
	case o.name == "":
		return ""
	case strings.Contains(place, "clustergroup"), strings.Contains(place, "cluster-group"):
		return "ClusterGroup"
	case strings.Contains(place, "workspace"):
		return "Workspace"
	}
	for _, other := range t.objects {
		switch o.name {
		case other.at("spec", "workspaceName").peek(), other.at("fullName", "workspaceName").peek(), other.at("spec", "spec", "workspaceName").peek():
			return "Workspace"
		case other.at("spec", "clusterGroupName").peek(), other.at("fullName", "clusterGroupName").peek():
			return "ClusterGroup"
		}
	}
	return ""
}

// document tells of those that no workspace was made of.
func (t *tmc) document(o *object) {
	switch {
	case o.is(tmcGroup, "Workspace"):
		t.workspace(o)
	case o.is(tmcGroup, "IAMPolicy"):
		t.iam(o)
	case o.is(tmcGroup, "Role"):
		t.role(o)
	case o.is(tmcGroup, "Policy"):
		t.policy(o)
	case o.is("templates.gatekeeper.sh", "ConstraintTemplate"):
		t.template(o)
	case o.is(tmcGroup, "ClusterGroup"):
		o.settle("", Changed, "groups of clusters are directories of the fleet: make an overlay per group or cluster")
	case o.is(tmcGroup, ""):
		o.settle("", Do, "could be a workspace or a cluster group: write type.kind into it, Workspace or ClusterGroup, and import again")
	case o.is(kustomizeGroup, "Kustomization"):
		t.selfService(o)
	}
}

func (t *tmc) workspace(o *object) {
	o.claim(t.names[o.name])
	o.at("fullName", "name").done()
	o.at("type").done()
	if d := o.at("meta", "description"); d.peek() != "" {
		d.tell(Changed, "a Tenant has no description: write it as a comment")
	}
}

// selfService tells of Kustomizations that had tenants make namespaces through TMC.
func (t *tmc) selfService(o *object) {
	w := t.holder(o)
	if w == nil {
		return
	}
	for _, p := range o.at("spec", "patches").list() {
		if p.get("target").get("kind").peek() == "TMCNamespace" {
			o.settle(w.name, Do, "had the tenant make namespaces through TMC: set spec.namespaces.selfService, and write plain Namespaces named %s-... into the tenant's repository in place of TMCNamespaces", w.name)
		}
	}
}
