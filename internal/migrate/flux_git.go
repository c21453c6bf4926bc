// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"regexp"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

var (
	gitURL   = regexp.MustCompile(`^(https?|ssh)://[^\s]+$`)
	withUser = regexp.MustCompile("^https?://[^/]*@")
	commitID = regexp.MustCompile("^[0-9a-f]{40,64}$")
)

func (c *cluster) git(d *draft, src *object, spec field, common v1alpha1.SourceCommon) (*v1alpha1.GitSource, bool) {
	url := spec.get("url")
	address, ok := gitAddress(url)
	if !ok {
		return nil, false
	}
	g := &v1alpha1.GitSource{SourceCommon: common, URL: address}
	spec.get("provider").unless("generic", "")
	spec.get("recurseSubmodules").unless(false)
	spec.get("gitImplementation").unless("go-git", "")
	if g.Ref, ok = gitRef(spec.get("ref")); !ok {
		return nil, false
	}
	g.Verify, ok = c.gitVerify(d, src, spec.get("verify"))
	return g, ok
}

// gitVerify reads which signatures are demanded. A demand that can't be carried over is
// not dropped: the source isn't either.
func (c *cluster) gitVerify(d *draft, src *object, f field) (*v1alpha1.GitVerify, bool) {
	if !f.found {
		return nil, true
	}
	modes := map[string]string{"": "", "HEAD": "", "head": "", "Tag": "Tag", "TagAndHEAD": "TagAndHEAD"}
	mode, known := modes[f.get("mode").peek()]
	if !known {
		f.get("mode").tell(Do, "is no mode of signatures that is known: correct it and import again")
		return nil, false
	}
	ref := c.credentials(d, src, f.get("secretRef").get("name"))
	if ref == nil {
		f.tell(Do, "demands signatures and names no Secret with keys: name one and import again")
		return nil, false
	}
	f.get("mode").done()
	return &v1alpha1.GitVerify{Mode: mode, SecretRef: *ref}, true
}

// gitAddress reads the URL of a Git repository, and never tells credentials in it.
func gitAddress(f field) (string, bool) {
	url := f.peek()
	switch {
	case withUser.MatchString(url):
		f.tell(Do, "holds credentials: put them into a Secret, name it in secretRef, and import again")
		return "", false
	case !gitURL.MatchString(url) || len(url) > 2048:
		f.tell(Do, "is no URL of a Git repository, which begins with https://, http:// or ssh://: correct it and import again")
		return "", false
	}
	return f.text(), true
}

// gitRef reads what Flux goes by: where several are set, one goes before the others.
func gitRef(f field) (*v1alpha1.GitRef, bool) {
	r := &v1alpha1.GitRef{}
	for _, by := range []struct {
		key string
		to  *string
	}{{"commit", &r.Commit}, {"name", &r.Name}, {"semver", &r.SemVer}, {"tag", &r.Tag}, {"branch", &r.Branch}} {
		at := f.get(by.key)
		if at.peek() == "" {
			at.unless("")
			continue
		}
		if len(at.peek()) > 255 || by.key == "commit" && !commitID.MatchString(at.peek()) {
			at.tell(Do, "is nothing that Git could check out: correct it and import again")
			return nil, false
		}
		*by.to = at.text()
		if *r == (v1alpha1.GitRef{Branch: "main"}) {
			return nil, true
		}
		return r, true
	}
	// Flux takes master when nothing is said, Tenantry main.
	return &v1alpha1.GitRef{Branch: "master"}, true
}
