// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"cmp"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// source is the Flux source of a sync.
func source(t *v1alpha1.Tenant, s v1alpha1.Sync) *Object {
	switch {
	case s.Source.OCI != nil:
		return ociRepository(t, s.Name, s.Source.OCI)
	case s.Source.Bucket != nil:
		return bucket(t, s.Name, s.Source.Bucket)
	case s.Source.Git != nil:
		return gitRepository(t, s.Name, s.Source.Git)
	default:
		// Admission refuses a sync without a source; one that was never admitted
		// (an export from a file) gets a source that Flux will refuse by name.
		return gitRepository(t, s.Name, &v1alpha1.GitSource{})
	}
}

func gitRepository(t *v1alpha1.Tenant, name string, g *v1alpha1.GitSource) *Object {
	repo := &sourcev1.GitRepository{
		TypeMeta:   sourceType(sourcev1.GitRepositoryKind),
		ObjectMeta: meta(t.Name, t.Name, name),
		Spec: sourcev1.GitRepositorySpec{
			URL:       g.URL,
			Interval:  interval(g.Interval, defaultSourceInterval),
			SecretRef: secretRef(g.SecretRef),
			Suspend:   suspended(t),
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		},
	}
	if r := g.Ref; r != nil {
		repo.Spec.Reference = &sourcev1.GitRepositoryRef{
			Branch: r.Branch, Tag: r.Tag, SemVer: r.SemVer, Name: r.Name, Commit: r.Commit,
		}
	}
	if v := g.Verify; v != nil {
		repo.Spec.Verification = &sourcev1.GitRepositoryVerification{
			Mode:      sourcev1.GitVerificationMode(cmp.Or(v.Mode, string(sourcev1.ModeGitHEAD))),
			SecretRef: *secretRef(&v.SecretRef),
		}
	}
	return object(repo)
}

func ociRepository(t *v1alpha1.Tenant, name string, o *v1alpha1.OCISource) *Object {
	repo := &sourcev1.OCIRepository{
		TypeMeta:   sourceType(sourcev1.OCIRepositoryKind),
		ObjectMeta: meta(t.Name, t.Name, name),
		Spec: sourcev1.OCIRepositorySpec{
			URL:       o.URL,
			Interval:  interval(o.Interval, defaultSourceInterval),
			SecretRef: secretRef(o.SecretRef),
			Suspend:   suspended(t),
		},
	}
	if r := o.Ref; r != nil {
		repo.Spec.Reference = &sourcev1.OCIRepositoryRef{Tag: r.Tag, SemVer: r.SemVer, Digest: r.Digest}
	}
	if v := o.Verify; v != nil {
		repo.Spec.Verify = &sourcev1.OCIRepositoryVerification{
			Provider:  cmp.Or(v.Provider, "cosign"),
			SecretRef: secretRef(v.SecretRef),
		}
		for _, id := range v.Identities {
			repo.Spec.Verify.MatchOIDCIdentity = append(repo.Spec.Verify.MatchOIDCIdentity,
				sourcev1.OIDCIdentityMatch{Issuer: id.Issuer, Subject: id.Subject})
		}
	}
	return object(repo)
}

func bucket(t *v1alpha1.Tenant, name string, b *v1alpha1.BucketSource) *Object {
	return object(&sourcev1.Bucket{
		TypeMeta:   sourceType(sourcev1.BucketKind),
		ObjectMeta: meta(t.Name, t.Name, name),
		Spec: sourcev1.BucketSpec{
			Endpoint:   b.Endpoint,
			BucketName: b.Name,
			Provider:   cmp.Or(b.Provider, sourcev1.BucketProviderGeneric),
			Region:     b.Region,
			Prefix:     b.Prefix,
			Interval:   interval(b.Interval, defaultSourceInterval),
			SecretRef:  secretRef(b.SecretRef),
			Suspend:    suspended(t),
		},
	})
}

func sourceType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: kind}
}

func secretRef(r *v1alpha1.LocalReference) *fluxmeta.LocalObjectReference {
	if r == nil {
		return nil
	}
	return &fluxmeta.LocalObjectReference{Name: r.Name}
}
