// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
)

// bookkeeping counts as read what an API server or a controller writes for itself, and
// would write again for the Tenant's objects.
func (o *object) bookkeeping() {
	for _, key := range []string{"apiVersion", "kind", "status"} {
		o.at(key).done()
	}
	metadata := o.at("metadata")
	for _, key := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"} {
		metadata.get(key).done()
	}
	metadata.get("annotations").get("kubectl.kubernetes.io/last-applied-configuration").done()
	for _, f := range metadata.get("labels").entries() {
		// Flux marks what it applied with the name of its Kustomization.
		if f.key == "kubernetes.io/metadata.name" || strings.HasPrefix(f.key, "kustomize.toolkit.fluxcd.io/") {
			f.done()
		}
	}
}
