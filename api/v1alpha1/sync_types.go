// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Sync is one place from which Flux applies the tenant's repository. It becomes a
// Flux source and a Kustomization of the same name in the home namespace.
type Sync struct {
	// name of the sync and of its Flux objects.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// source says where the content comes from.
	// +required
	Source Source `json:"source"`

	// path within the source. Default: its root.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.contains('..')",message="a path stays within the source; take out '..'"
	Path string `json:"path,omitempty"`

	// interval at which Flux corrects drift. Default: 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// retryInterval after a failure. Default: 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`

	// timeout of one run. Default: Flux's, which is interval.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// prune removes from the cluster what was removed from the source. Default: true.
	// +optional
	// +kubebuilder:default=true
	Prune *bool `json:"prune,omitempty"`

	// wait makes the sync Ready only when everything it applied is. Default: false.
	// +optional
	Wait bool `json:"wait,omitempty"`

	// targetNamespace puts every namespaced object of the source into this namespace of the tenant.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// substitute are variables for the manifests.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	Substitute map[string]string `json:"substitute,omitempty"`

	// substituteFrom names ConfigMaps and Secrets of the home namespace that hold variables.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	SubstituteFrom []SubstituteReference `json:"substituteFrom,omitempty"`

	// decryption of secrets in the source.
	// +optional
	Decryption *Decryption `json:"decryption,omitempty"`

	// dependsOn names syncs of this tenant that must be Ready first.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	DependsOn []string `json:"dependsOn,omitempty"`
}

// SubstituteReference names an object with variables.
type SubstituteReference struct {
	// kind is ConfigMap or Secret.
	// +required
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// optional tolerates its absence.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// Decryption says how secrets in a source are opened.
type Decryption struct {
	// provider is sops.
	// +optional
	// +kubebuilder:validation:Enum=sops
	// +kubebuilder:default=sops
	Provider string `json:"provider,omitempty"`
	// secretRef names the Secret with the keys, in the home namespace.
	// +required
	SecretRef LocalReference `json:"secretRef"`
}

// LocalReference names an object in the home namespace.
type LocalReference struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Source is exactly one of git, oci and bucket.
//
// +kubebuilder:validation:XValidation:rule="[has(self.git), has(self.oci), has(self.bucket)].filter(x, x).size() == 1",message="set exactly one of git, oci and bucket"
type Source struct {
	// git is a Git repository.
	// +optional
	Git *GitSource `json:"git,omitempty"`
	// oci is an OCI artifact.
	// +optional
	OCI *OCISource `json:"oci,omitempty"`
	// bucket is an object store.
	// +optional
	Bucket *BucketSource `json:"bucket,omitempty"`
}

// SourceCommon is what every source has.
type SourceCommon struct {
	// secretRef names the Secret with credentials, in the home namespace.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`
	// interval at which the source is looked at. Default: 1m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// GitSource is a Git repository.
type GitSource struct {
	SourceCommon `json:",inline"`

	// url of the repository: https://, http:// or ssh://, without credentials in it.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?|ssh)://[^\\\\s]+$')",message="a Git URL begins with https://, http:// or ssh://"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^https?://[^/]*@')",message="credentials don't belong in a URL; put them into a Secret and name it in secretRef"
	URL string `json:"url"`

	// ref to check out. Default: branch main.
	// +optional
	Ref *GitRef `json:"ref,omitempty"`

	// verify the signature of commits or tags.
	// +optional
	Verify *GitVerify `json:"verify,omitempty"`
}

// GitRef names what to check out; exactly one field.
//
// +kubebuilder:validation:XValidation:rule="[has(self.branch), has(self.tag), has(self.semver), has(self.name), has(self.commit)].filter(x, x).size() == 1",message="set exactly one of branch, tag, semver, name and commit"
type GitRef struct {
	// branch to follow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`
	// tag to check out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Tag string `json:"tag,omitempty"`
	// semver range of tags to follow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	SemVer string `json:"semver,omitempty"`
	// name of a reference, as refs/pull/7/head.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`
	// commit to check out.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{40,64}$`
	Commit string `json:"commit,omitempty"`
}

// GitVerify demands signatures.
type GitVerify struct {
	// mode is HEAD (the default), Tag or TagAndHEAD.
	// +optional
	// +kubebuilder:validation:Enum=HEAD;Tag;TagAndHEAD
	// +kubebuilder:default=HEAD
	Mode string `json:"mode,omitempty"`
	// secretRef names the Secret with the public keys, in the home namespace.
	// +required
	SecretRef LocalReference `json:"secretRef"`
}

// OCISource is an OCI artifact.
type OCISource struct {
	SourceCommon `json:",inline"`

	// url of the artifact, as oci://registry/path.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^oci://[^@\\\\s]+$')",message="an OCI URL begins with oci:// and holds no credentials"
	URL string `json:"url"`

	// ref to pull. Default: tag latest.
	// +optional
	Ref *OCIRef `json:"ref,omitempty"`

	// verify the signature of the artifact.
	// +optional
	Verify *OCIVerify `json:"verify,omitempty"`
}

// OCIRef names what to pull; exactly one field.
//
// +kubebuilder:validation:XValidation:rule="[has(self.tag), has(self.semver), has(self.digest)].filter(x, x).size() == 1",message="set exactly one of tag, semver and digest"
type OCIRef struct {
	// tag to follow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Tag string `json:"tag,omitempty"`
	// semver range of tags to follow.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	SemVer string `json:"semver,omitempty"`
	// digest to pull.
	// +optional
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`
}

// OCIVerify demands signatures.
type OCIVerify struct {
	// provider is cosign (the default) or notation.
	// +optional
	// +kubebuilder:validation:Enum=cosign;notation
	// +kubebuilder:default=cosign
	Provider string `json:"provider,omitempty"`
	// secretRef names the Secret with trusted keys, in the home namespace. Absent: keyless.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`
	// identities that a keyless signature may have.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Identities []OIDCIdentity `json:"identities,omitempty"`
}

// OIDCIdentity is the identity in a keyless signature.
type OIDCIdentity struct {
	// issuer is a regular expression for the OIDC issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Issuer string `json:"issuer"`
	// subject is a regular expression for the certificate's subject.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Subject string `json:"subject"`
}

// BucketSource is an object store.
type BucketSource struct {
	SourceCommon `json:",inline"`

	// endpoint as host or host:port.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="!self.contains('/') && !self.contains('@')",message="an endpoint is a host or host:port"
	Endpoint string `json:"endpoint"`
	// name of the bucket.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// provider is generic (the default), aws, gcp or azure.
	// +optional
	// +kubebuilder:validation:Enum=generic;aws;gcp;azure
	// +kubebuilder:default=generic
	Provider string `json:"provider,omitempty"`
	// region of the bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`
	// prefix of the objects to fetch.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Prefix string `json:"prefix,omitempty"`
}
