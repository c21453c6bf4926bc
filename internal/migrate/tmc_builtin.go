// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"regexp"
	"slices"
	"strings"
)

// accountPolicy are names that people give to policies that demand an account.
var accountPolicy = regexp.MustCompile("(?i)(^|[^a-z])sa([^a-z]|$)|sa$|service-?account")

// builtIn tells of policies that are Tenantry's own too.
func (o *object) builtIn() bool {
	kinds := map[string]bool{}
	for _, target := range o.at("spec", "input", "targetKubernetesResources").list() {
		for _, k := range target.get("kinds").list() {
			kinds[k.peek()] = true
		}
	}
	only := func(names ...string) bool {
		for k := range kinds {
			if !slices.Contains(names, k) {
				return false
			}
		}
		return len(kinds) > 0
	}
	switch {
	case only("Kustomization", "HelmRelease") && accountPolicy.MatchString(o.at("spec", "recipe").peek()):
		o.settle("", Changed, "is built in: what Flux applies for a tenant runs as the tenant's account, and Kustomizations and HelmReleases that name none or another are refused")
	case only("ExternalSecret", "PushSecret", "ClusterExternalSecret"):
		o.settle("", Changed, "is built in: keys begin with <tenant>/ or <tenant>-, or with spec.secrets.keyPrefixes; name the ClusterSecretStores that tenants read from in spec.secrets.stores")
	default:
		return false
	}
	return true
}

// template is Gatekeeper's half of such a policy.
func (t *tmc) template(o *object) {
	rego := ""
	for _, target := range o.at("spec", "targets").list() {
		rego += target.get("rego").peek()
	}
	if strings.Contains(rego, "serviceAccountName") || strings.Contains(rego, "remoteRef") || strings.Contains(rego, "dataFrom") {
		o.settle("", Changed, "is built in: Tenantry holds tenants to their own account and to their own keys without Gatekeeper; remove it when no other namespace needs it")
	}
}
