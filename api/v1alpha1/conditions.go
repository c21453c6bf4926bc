// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a Tenant. Ready, Reconciling and Stalled follow kstatus.
const (
	// ReadyCondition is True when every wall and every object of the tenant stands
	// as declared. It says nothing of what the tenant deploys: see SyncedCondition.
	ReadyCondition = "Ready"
	// ReconcilingCondition is True while the controller is getting there.
	ReconcilingCondition = "Reconciling"
	// StalledCondition is True when only a person can help; the message says how.
	StalledCondition = "Stalled"
	// SyncedCondition is True when every sync of the tenant is Ready.
	SyncedCondition = "Synced"
)

// Reasons of conditions.
const (
	// ReasonReconciled: everything stands as declared.
	ReasonReconciled = "Reconciled"
	// ReasonProgressing: the controller is writing or waiting for its own writes.
	ReasonProgressing = "Progressing"
	// ReasonNameOverlap: another tenant's names begin with this one's, or the reverse.
	ReasonNameOverlap = "NameOverlap"
	// ReasonNamespaceTaken: a declared namespace exists and is not this tenant's.
	ReasonNamespaceTaken = "NamespaceTaken"
	// ReasonRoleNotFound: an owner's ClusterRole does not exist.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonRoleNotGrantable: the controller may not bind an owner's ClusterRole.
	ReasonRoleNotGrantable = "RoleNotGrantable"
	// ReasonOwnerNamespaceMissing: an owner account's namespace does not exist.
	ReasonOwnerNamespaceMissing = "OwnerNamespaceMissing"
	// ReasonFluxMissing: the tenant has syncs and the cluster has no Flux.
	ReasonFluxMissing = "FluxMissing"
	// ReasonApplyFailed: the API server refused an object; the message names it.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonCordoned: the tenant is frozen by spec.cordoned.
	ReasonCordoned = "Cordoned"
	// ReasonOverLimit: namespaces exist beyond the limit and stay without access.
	ReasonOverLimit = "OverLimit"
	// ReasonSyncsReady: every sync is Ready.
	ReasonSyncsReady = "SyncsReady"
	// ReasonSyncsNotReady: at least one sync is not Ready; the message names it.
	ReasonSyncsNotReady = "SyncsNotReady"
	// ReasonNoSyncs: the tenant declares none.
	ReasonNoSyncs = "NoSyncs"
	// ReasonDomainTaken: a domain is another tenant's, or part of one is.
	ReasonDomainTaken = "DomainTaken"
	// ReasonExceptionUnknown: an exception names a rule that is not there or knows none.
	ReasonExceptionUnknown = "ExceptionUnknown"
	// ReasonOffboarding: the Tenant is being deleted; the message says what is awaited.
	ReasonOffboarding = "Offboarding"
)
