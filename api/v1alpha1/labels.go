// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels and annotations. Everything under tenantry.dev/ on a Namespace is
// reserved: admission lets only holders of the bypass verb change it.
const (
	// TenantLabel names the tenant that a namespace or a managed object belongs to.
	TenantLabel = Group + "/tenant"

	// ManagedLabel marks an object that Tenantry wrote and keeps; its value is the
	// tenant that it was made for, or "true" where all tenants share it.
	// Admission refuses changes to such an object by anyone without bypass.
	ManagedLabel = Group + "/managed"

	// GatewayLabel is put by a platform on namespaces of its own (ingress
	// controllers, monitoring) whose pods may talk to the pods of isolated tenants.
	GatewayLabel = Group + "/gateway"

	// CordonLabel on a namespace of a tenant says that it is frozen: admission refuses
	// writes there by people and accounts of the tenant.
	CordonLabel = Group + "/cordoned"
	// CordonAll freezes everybody of the tenant.
	CordonAll = "true"
	// CordonOffboarding freezes people; the tenant's accounts may still prune.
	CordonOffboarding = "offboarding"

	// HashAnnotation holds a digest of what Tenantry last applied to an object, so
	// that fields which it no longer wants are noticed.
	HashAnnotation = Group + "/applied"

	// ExpectAnnotation on a Flux object says how it should end. The only value is
	// ExpectRefused: `tenantry up` then counts a refusal as success and anything
	// else as a hole in a wall.
	ExpectAnnotation = Group + "/expect"
	// ExpectRefused expects the cluster to forbid the object's content.
	ExpectRefused = "refused"

	// FluxTenantLabel is the label that `flux create tenant` sets.
	FluxTenantLabel = "toolkit.fluxcd.io/tenant"

	// Finalizer keeps a Tenant until its objects are gone in the right order.
	Finalizer = Group + "/offboard"

	// FieldManager owns the fields that Tenantry applies.
	FieldManager = "tenantry"
	// CLIManager owns the fields that people set with the command line.
	CLIManager = "tenantry-cli"
)

// Virtual verbs on the resource tenants.tenantry.dev. No API serves them: they
// are granted by RBAC and read by the admission policies through the authorizer.
const (
	// VerbBypass, at cluster scope, exempts its holder from tenancy policies.
	VerbBypass = "bypass"
	// VerbReconcile, at cluster scope, marks Flux's own controllers.
	VerbReconcile = "reconcile"
	// VerbProvision, at cluster scope, marks an identity as a tenant's that may create namespaces.
	VerbProvision = "provision"
	// VerbOwn, in a tenant's home namespace, lets its holder act for that tenant.
	VerbOwn = "own"
	// VerbGrow, in a tenant's home namespace, lets owners create one more namespace.
	VerbGrow = "grow"
	// VerbRunAs, in a tenant namespace, lets its holder name that namespace's tenant account in Flux objects.
	VerbRunAs = "run-as"
)

// Annotations of a tenant's namespaces that hold what its Tenant allows, as lists
// separated by commas. Admission policies read them; absent means nothing but the
// safe choice.
const (
	// NamespacesAnnotation lists the tenant's namespaces whose names don't begin with its own.
	NamespacesAnnotation = Group + "/namespaces"
	// StrangersAnnotation lists namespaces that are not the tenant's although their names
	// begin with its own.
	StrangersAnnotation = Group + "/strangers"
	// ExceptedAnnotation lists rules that do not deny for this tenant.
	ExceptedAnnotation = Group + "/excepted"
	// AuditedAnnotation lists rules that warn instead. AuditLabel marks namespaces that have any.
	AuditedAnnotation = Group + "/audited"
	AuditLabel        = Group + "/audit"

	// SourcesAnnotation lists URLs and URL prefixes of spec.sources.allow and spec.syncs.
	SourcesAnnotation = Group + "/sources"
	// BucketsAnnotation lists spec.sources.buckets, each as provider|endpoint|region|name.
	BucketsAnnotation = Group + "/buckets"
	// VerifyAnnotation lists the Secrets whose keys may verify sources; "*" means any.
	VerifyAnnotation = Group + "/verify"
	// AddressesAnnotation lists spec.allow.addresses.
	AddressesAnnotation = Group + "/addresses"
	// KubeConfigsAnnotation lists spec.allow.kubeConfigs.
	KubeConfigsAnnotation = Group + "/kubeconfigs"
	// AccountsAnnotation lists spec.allow.accounts.
	AccountsAnnotation = Group + "/accounts"

	// DomainsAnnotation lists spec.domains, without those that are another tenant's.
	DomainsAnnotation = Group + "/domains"
	// ServiceTypesAnnotation lists spec.allow.serviceTypes.
	ServiceTypesAnnotation = Group + "/service-types"
	// NetworkAnnotation is spec.network.mode.
	NetworkAnnotation = Group + "/network"
	// IngressClassesAnnotation and its siblings list names of classes; an unset list
	// of the Tenant is the cluster's default class, where there is one.
	IngressClassesAnnotation          = Group + "/ingress-classes"
	GatewayClassesAnnotation          = Group + "/gateway-classes"
	GatewaysAnnotation                = Group + "/gateways"
	StorageClassesAnnotation          = Group + "/storage-classes"
	VolumeAttributesClassesAnnotation = Group + "/volume-attributes-classes"
	SnapshotClassesAnnotation         = Group + "/snapshot-classes"
	PriorityClassesAnnotation         = Group + "/priority-classes"
	RuntimeClassesAnnotation          = Group + "/runtime-classes"
	DeviceClassesAnnotation           = Group + "/device-classes"

	// RegistriesAnnotation lists spec.allow.registries; absent means any.
	RegistriesAnnotation = Group + "/registries"
	// PullPoliciesAnnotation lists spec.allow.pullPolicies; absent means any.
	PullPoliciesAnnotation = Group + "/pull-policies"
	// TolerationsAnnotation and NodeSelectorsAnnotation list key=value pairs and, for
	// tolerations, keys.
	TolerationsAnnotation   = Group + "/tolerations"
	NodeSelectorsAnnotation = Group + "/node-selectors"

	// SecretStoresAnnotation lists the ClusterSecretStores of spec.secrets.stores.
	SecretStoresAnnotation = Group + "/secret-stores"
	// SecretPrefixesAnnotation lists what keys in those stores begin with.
	SecretPrefixesAnnotation = Group + "/secret-prefixes"
	// SecretProvidersAnnotation lists the providers that SecretStores of the tenant may use.
	SecretProvidersAnnotation = Group + "/secret-providers"
)
