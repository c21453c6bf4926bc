// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SourcesSpec says from where the tenant's own Flux sources may fetch. The sources of
// spec.syncs are the platform's and need no entry; their URLs are allowed as they stand.
type SourcesSpec struct {
	// allow lists URLs for GitRepository, OCIRepository, HelmRepository and
	// ImageRepository (as oci://registry/path). One that ends in / allows everything
	// below it; any other allows that very URL. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.all(u, u.matches('^(https?|ssh|oci)://[^/,\\\\s]+/[^,\\\\s]*$'))",message="begins with https://, http://, ssh:// or oci:// and names a host and a path, without commas: a prefix ends in /"
	// +kubebuilder:validation:XValidation:rule="self.all(u, !u.contains('..') && (u.startsWith('ssh://') || !u.matches('^[^/]*//[^/]*@')))",message="holds neither '..' nor credentials"
	Allow []string `json:"allow,omitempty"`

	// buckets lists object stores for Bucket. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Buckets []AllowedBucket `json:"buckets,omitempty"`

	// verify requires signatures of what the tenant's own sources fetch. Default: not
	// required. Buckets, and Helm repositories other than OCI, have no signatures and
	// are refused with it.
	// +optional
	Verify *VerifySpec `json:"verify,omitempty"`
}

// AllowedBucket is an object store, or several whose names begin alike.
type AllowedBucket struct {
	// provider is generic (the default), aws, azure or gcp. The latter three may use
	// the identity of Flux itself.
	// +optional
	// +kubebuilder:validation:Enum=generic;aws;azure;gcp
	// +kubebuilder:default=generic
	Provider string `json:"provider,omitempty"`
	// endpoint as Flux writes it: host, or host:port.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[^,|\s]+$`
	Endpoint string `json:"endpoint"`
	// region of the bucket. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[^,|\s]*$`
	Region string `json:"region,omitempty"`
	// name of the bucket; with a * at the end, every bucket whose name begins so.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][-.a-z0-9]*\*?$`
	Name string `json:"name"`
}

// VerifySpec says how sources are verified.
type VerifySpec struct {
	// secretNames are the Secrets whose keys count. Default: any key that the tenant
	// names, and keyless signatures.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	SecretNames []string `json:"secretNames,omitempty"`
}

// ServiceType is a type of Service.
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer;ExternalName
type ServiceType string

// PullPolicy is an image pull policy.
// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
type PullPolicy string

// AllowSpec is what a tenant's applications may use beyond the safe defaults. A list of
// classes that is not set allows the cluster's default class, where there is one; a
// list that is set allows just what it names.
type AllowSpec struct {
	// serviceTypes of Services. Default: ClusterIP.
	// +optional
	// +listType=set
	ServiceTypes []ServiceType `json:"serviceTypes,omitempty"`

	// ingressClasses of Ingresses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	IngressClasses []string `json:"ingressClasses,omitempty"`

	// gatewayClasses of Gateways that the tenant makes for itself. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	GatewayClasses []string `json:"gatewayClasses,omitempty"`

	// gateways of the platform that the tenant's routes may attach to, as
	// namespace/name. Default: none; its own need no entry.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=317
	Gateways []string `json:"gateways,omitempty"`

	// storageClasses of PersistentVolumeClaims.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	StorageClasses []string `json:"storageClasses,omitempty"`

	// volumeAttributesClasses of PersistentVolumeClaims. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	VolumeAttributesClasses []string `json:"volumeAttributesClasses,omitempty"`

	// snapshotClasses that VolumeSnapshots may name. Default: none; one that names no
	// class gets the default of its driver.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	SnapshotClasses []string `json:"snapshotClasses,omitempty"`

	// priorityClasses of Pods.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	PriorityClasses []string `json:"priorityClasses,omitempty"`

	// runtimeClasses that Pods may name. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	RuntimeClasses []string `json:"runtimeClasses,omitempty"`

	// deviceClasses that ResourceClaims may name. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	DeviceClasses []string `json:"deviceClasses,omitempty"`

	// registries that images come from, also those of init and ephemeral containers and
	// of image volumes. One that ends in / allows everything below it; any other allows
	// that very repository. A short name counts as docker.io/library/name. Default: any.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.all(r, r.matches('^[a-z0-9.:-]+/[a-z0-9._/-]*$'))",message="is a registry host and a path, as ghcr.io/team/ or ghcr.io/team/app, in lower case"
	Registries []string `json:"registries,omitempty"`

	// pullPolicies of images. Always keeps a Pod from using an image that another
	// tenant's credentials brought to its node. Default: any.
	// +optional
	// +listType=set
	PullPolicies []PullPolicy `json:"pullPolicies,omitempty"`

	// tolerations are taints that Pods may tolerate: key for any value of it, or
	// key=value. Taints of node.kubernetes.io need no entry. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9][-A-Za-z0-9_./]*(=[-A-Za-z0-9_.]*)?$`
	// +kubebuilder:validation:items:MaxLength=400
	Tolerations []string `json:"tolerations,omitempty"`

	// nodeSelectors are labels of nodes, as key=value, that Pods may ask for. Architecture,
	// operating system, instance type, zone and region need no entry. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z0-9][-A-Za-z0-9_./]*=[-A-Za-z0-9_.]*$`
	// +kubebuilder:validation:items:MaxLength=400
	NodeSelectors []string `json:"nodeSelectors,omitempty"`

	// accounts of namespaces outside the tenant that its RoleBindings may name, as
	// namespace/name. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=317
	Accounts []string `json:"accounts,omitempty"`

	// addresses that Flux's notification Providers may send to. One that ends in / allows
	// everything below it; any other allows that very address. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.all(u, !u.contains('..') && u.matches('^[^,\\\\s]+$') && (!u.contains('://') || u.matches('^[a-z]+://[^/@]+/')))",message="an address holds no commas and no '..', and one with a scheme names a host and a path: a prefix ends in /"
	Addresses []string `json:"addresses,omitempty"`

	// kubeConfigs are Secrets and ConfigMaps that spec.kubeConfig of Kustomizations and
	// HelmReleases may name, to apply to another cluster. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	KubeConfigs []string `json:"kubeConfigs,omitempty"`
}

// SecretsSpec says what the tenant may read and write through External Secrets.
type SecretsSpec struct {
	// stores are ClusterSecretStores of the platform. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:items:MaxLength=253
	Stores []string `json:"stores,omitempty"`

	// keyPrefixes are what keys in those stores begin with. Default: "<tenant>/" and "<tenant>-".
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[^,\s]+$`
	// +kubebuilder:validation:items:MaxLength=253
	KeyPrefixes []string `json:"keyPrefixes,omitempty"`

	// providers that SecretStores of the tenant's own may use, as External Secrets names
	// them in spec.provider: vault, aws, kubernetes ... Such a store may use the identity
	// of the operator itself where the provider has one. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-zA-Z0-9]+$`
	// +kubebuilder:validation:items:MaxLength=63
	Providers []string `json:"providers,omitempty"`
}

// ExceptionAction is what becomes of a rule.
// +kubebuilder:validation:Enum=Audit;Allow
type ExceptionAction string

const (
	// ExceptionAudit warns who asks and writes to the API server's audit log.
	ExceptionAudit ExceptionAction = "Audit"
	// ExceptionAllow says nothing.
	ExceptionAllow ExceptionAction = "Allow"
)

// Exception lets a tenant do what one rule denies.
type Exception struct {
	// rule as it stands at the end of a denial: policy/rule.
	// +required
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:Pattern=`^[a-z]+(-[a-z]+)*/[A-Za-z]+([-.][A-Za-z]+)*$`
	Rule string `json:"rule"`

	// action is Allow (the default) or Audit.
	// +optional
	// +kubebuilder:default=Allow
	Action ExceptionAction `json:"action,omitempty"`

	// reason for people who read it later.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`

	// until is when the exception ends. Default: never.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// Refusal is something of the tenant that a policy does not let through.
type Refusal struct {
	// object that reports it, as Kind namespace/name.
	// +required
	Object string `json:"object"`
	// rule that refused.
	// +required
	Rule string `json:"rule"`
	// message of the rule: what, why and the mend.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
	// since when, as far as is known.
	// +required
	Since metav1.Time `json:"since"`
}
