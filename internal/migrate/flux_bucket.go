// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

func bucket(spec field, common v1alpha1.SourceCommon) (*v1alpha1.BucketSource, bool) {
	endpoint, name, provider := spec.get("endpoint"), spec.get("bucketName"), spec.get("provider")
	switch {
	case !within(endpoint.peek(), 255) || strings.ContainsAny(endpoint.peek(), "/@"):
		endpoint.tell(Do, "is no endpoint, which is a host or host:port: correct it and import again")
		return nil, false
	case !within(name.peek(), 255):
		name.tell(Do, "is no name of a bucket: correct it and import again")
		return nil, false
	}
	b := &v1alpha1.BucketSource{SourceCommon: common, Endpoint: endpoint.text(), Name: name.text()}
	switch p := provider.peek(); p {
	case "", "generic":
		provider.unless(p)
	case "aws", "gcp", "azure":
		b.Provider = provider.text()
	default:
		provider.tell(Do, "is no provider that is known: choose generic, aws, gcp or azure, and import again")
		return nil, false
	}
	if within(spec.get("region").peek(), 63) {
		b.Region = spec.get("region").text()
	}
	if p := spec.get("prefix").peek(); len(p) > 512 {
		spec.get("prefix").tell(Do, "has more than 512 letters: shorten it and import again")
		return nil, false
	}
	b.Prefix = spec.get("prefix").text()
	return b, true
}
