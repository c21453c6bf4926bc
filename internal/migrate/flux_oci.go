// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"regexp"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

var (
	ociURL   = regexp.MustCompile(`^oci://[^@\s]+$`)
	digestID = regexp.MustCompile("^sha256:[0-9a-f]{64}$")
)

func (c *cluster) oci(d *draft, src *object, spec field, common v1alpha1.SourceCommon) (*v1alpha1.OCISource, bool) {
	url := spec.get("url")
	if !ociURL.MatchString(url.peek()) || len(url.peek()) > 2048 {
		url.tell(Do, "is no URL of an artifact, which begins with oci:// and holds no credentials: correct it and import again")
		return nil, false
	}
	a := &v1alpha1.OCISource{SourceCommon: common, URL: url.text()}
	spec.get("provider").unless("generic", "")
	var ok bool
	if a.Ref, ok = ociRef(spec.get("ref")); !ok {
		return nil, false
	}
	a.Verify, ok = c.ociVerify(d, src, spec.get("verify"))
	return a, ok
}

// ociVerify reads which signatures are demanded. A demand that can't be carried over is
// not dropped: the source isn't either.
func (c *cluster) ociVerify(d *draft, src *object, f field) (*v1alpha1.OCIVerify, bool) {
	if !f.found {
		return nil, true
	}
	v := &v1alpha1.OCIVerify{SecretRef: c.credentials(d, src, f.get("secretRef").get("name"))}
	identities := f.get("matchOIDCIdentity").list()
	for _, at := range identities {
		id := v1alpha1.OIDCIdentity{Issuer: at.get("issuer").text(), Subject: at.get("subject").text()}
		if within(id.Issuer, 512) && within(id.Subject, 512) {
			v.Identities = append(v.Identities, id)
		}
	}
	providers := map[string]string{"": "", "cosign": "", "notation": "notation"}
	provider, known := providers[f.get("provider").peek()]
	named := !f.get("secretRef").found || v.SecretRef != nil
	if !known || !named || len(v.Identities) > 16 || len(v.Identities) < len(identities) {
		f.tell(Do, "demands signatures in a way that a sync can't: name cosign or notation, a Secret, or 16 identities at most, and import again")
		return nil, false
	}
	f.get("provider").done()
	v.Provider = provider
	return v, true
}

func within(text string, most int) bool { return text != "" && len(text) <= most }

func ociRef(f field) (*v1alpha1.OCIRef, bool) {
	r := &v1alpha1.OCIRef{}
	for _, by := range []struct {
		key  string
		most int
		to   *string
	}{{"digest", 71, &r.Digest}, {"semver", 255, &r.SemVer}, {"tag", 128, &r.Tag}} {
		at := f.get(by.key)
		if at.peek() == "" {
			at.unless("")
			continue
		}
		if len(at.peek()) > by.most || by.key == "digest" && !digestID.MatchString(at.peek()) {
			at.tell(Do, "is nothing that could be pulled: correct it and import again")
			return nil, false
		}
		*by.to = at.text()
		if *r == (v1alpha1.OCIRef{Tag: "latest"}) {
			return nil, true
		}
		return r, true
	}
	return nil, true
}
