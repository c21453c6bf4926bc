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
