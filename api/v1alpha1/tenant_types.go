// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tenant is one team's share of a cluster: who owns it, which namespaces it has
// or may make, what is synced into it from where, and within which bounds.
//
// The tenant's home namespace bears the tenant's name and holds its Flux objects
// and its account, also of that name. All its other namespaces are named
// "<tenant>-..." unless spec.namespaces.declared says otherwise.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=tn
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Namespaces",type=integer,JSONPath=`.status.namespaceCount`
// +kubebuilder:printcolumn:name="Owners",type=string,JSONPath=`.status.owners`
// +kubebuilder:printcolumn:name="Synced",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Synced")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')",message="a tenant's name is also its home namespace: 1 to 40 lower-case letters, digits and '-', beginning with a letter"
// +kubebuilder:validation:XValidation:rule="!(self.metadata.name in ['default', 'flux', 'flux-system', 'tenantry-system', 'tenantry', 'kube']) && !self.metadata.name.startsWith('kube-')",message="this name is the system's; choose another"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.namespaces) || !has(self.spec.namespaces.declared) || !(self.metadata.name in self.spec.namespaces.declared)",message="the home namespace bears the tenant's name and exists by itself; take it out of spec.namespaces.declared"
type Tenant struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the platform admin declares.
	// +required
	Spec TenantSpec `json:"spec"`

	// status is what Tenantry found and did.
	// +optional
	Status TenantStatus `json:"status,omitempty,omitzero"`
}

// TenantList is a list of Tenants.
//
// +kubebuilder:object:root=true
type TenantList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +required
	Items []Tenant `json:"items"`
}

// TenantSpec declares a tenant.
type TenantSpec struct {
	// owners are the people, groups and accounts that the tenant belongs to.
	// The tenant's own account, which its syncs run as, needs no entry.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +listMapKey=namespace
	// +kubebuilder:validation:MaxItems=64
	Owners []Owner `json:"owners,omitempty"`

	// namespaces says which namespaces the tenant has, and whether it may make its own.
	// +optional
	Namespaces NamespacesSpec `json:"namespaces,omitempty,omitzero"`

	// syncs are the places from which Flux applies the tenant's own repository, as
	// the tenant's account.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(s, !has(s.dependsOn) || s.dependsOn.all(d, d != s.name && self.exists(o, o.name == d)))",message="dependsOn names other syncs of the same tenant"
	Syncs []Sync `json:"syncs,omitempty"`

	// quota holds the hard limits of a ResourceQuota that every namespace of the
	// tenant gets. Empty means none.
	// +optional
	Quota corev1.ResourceList `json:"quota,omitempty"`

	// limits are the items of a LimitRange that every namespace of the tenant gets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Limits []corev1.LimitRangeItem `json:"limits,omitempty"`

	// network says whom the tenant's pods may talk to.
	// +optional
	Network NetworkSpec `json:"network,omitempty,omitzero"`

	// sources says from where the tenant's own Flux sources may fetch.
	// +optional
	Sources SourcesSpec `json:"sources,omitempty,omitzero"`

	// domains are the tenant's: hosts of its Ingresses, routes and Gateways are one of
	// them or below one. Two tenants have none in common. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(d, d.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$'))",message="a domain is two or more lower-case labels, as oil.example.com, without a wildcard: hosts below it are included"
	Domains []string `json:"domains,omitempty"`

	// allow is what the tenant's applications may use beyond the safe defaults.
	// +optional
	Allow AllowSpec `json:"allow,omitempty,omitzero"`

	// secrets says what the tenant may reach through External Secrets.
	// +optional
	Secrets SecretsSpec `json:"secrets,omitempty,omitzero"`

	// exceptions let this tenant do what a rule denies everyone else. Rules that keep
	// tenants apart know none.
	// +optional
	// +listType=map
	// +listMapKey=rule
	// +kubebuilder:validation:MaxItems=32
	Exceptions []Exception `json:"exceptions,omitempty"`

	// cordoned freezes the tenant: nobody of it writes, no new namespace, syncs
	// suspended. What runs keeps running and can be looked at.
	// +optional
	Cordoned bool `json:"cordoned,omitempty"`

	// deletionPolicy says what deleting this Tenant does to the tenant's
	// namespaces: Delete (the default) removes them with all they hold; Retain keeps
	// the namespaces and what was deployed there, and takes away access and syncs.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy is what happens to namespaces when their Tenant goes.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// The deletion policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionRetain DeletionPolicy = "Retain"
)

// OwnerKind is the kind of an owner.
// +kubebuilder:validation:Enum=User;Group;ServiceAccount
type OwnerKind string

// The owner kinds.
const (
	OwnerUser           OwnerKind = "User"
	OwnerGroup          OwnerKind = "Group"
	OwnerServiceAccount OwnerKind = "ServiceAccount"
)

// Role is one of Tenantry's own roles for people of a tenant.
// +kubebuilder:validation:Enum=admin;edit;view
type Role string

// The roles. Only admin owns: it alone makes namespaces and names the tenant's
// account in Flux objects.
const (
	RoleAdmin Role = "admin"
	RoleEdit  Role = "edit"
	RoleView  Role = "view"
)

// Owner is a person, a group or an account, with what it may do in every
// namespace of the tenant.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'ServiceAccount') == (self.namespace.size() > 0)",message="namespace is required for a ServiceAccount and refused for a User or a Group"
// +kubebuilder:validation:XValidation:rule="!self.name.startsWith('system:')",message="names that begin with system: belong to the cluster; for an account use kind ServiceAccount with name and namespace"
type Owner struct {
	// kind is User, Group or ServiceAccount.
	// +required
	Kind OwnerKind `json:"kind"`

	// name as the API server sees it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// namespace of a ServiceAccount; empty for a User or a Group.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// role is admin, edit or view. Default: admin, or none when clusterRoles is set.
	// +optional
	Role Role `json:"role,omitempty"`

	// clusterRoles are further ClusterRoles bound in every namespace of the tenant.
	// The controller must have been given the verb bind on each. cluster-admin,
	// admin and edit are refused: they hold rights that break out of a tenant.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r in ['cluster-admin', 'admin', 'edit']) && !r.startsWith('tenantry:') && !r.startsWith('system:'))",message="cluster-admin, admin, edit, system:* and tenantry:* are not given to tenants this way; use role, or a ClusterRole of your own"
	ClusterRoles []string `json:"clusterRoles,omitempty"`
}

// PodSecurityLevel is a level of the Pod Security Standards.
// +kubebuilder:validation:Enum=restricted;baseline;privileged
type PodSecurityLevel string

// The Pod Security levels.
const (
	PodSecurityRestricted PodSecurityLevel = "restricted"
	PodSecurityBaseline   PodSecurityLevel = "baseline"
	PodSecurityPrivileged PodSecurityLevel = "privileged"
)

// NamespacesSpec says which namespaces a tenant has.
type NamespacesSpec struct {
	// declared are namespaces that Tenantry makes and keeps, beside the home
	// namespace. Any free name will do; the prefix is needed only for namespaces that
	// the tenant makes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self.all(n, !(n in ['default', 'flux-system', 'tenantry-system']) && !n.startsWith('kube-'))",message="default, kube-*, flux-system and tenantry-system are the system's"
	Declared []string `json:"declared,omitempty"`

	// selfService lets the tenant make namespaces named "<tenant>-...", as plain
	// Namespace objects. Absent: it may not.
	// +optional
	SelfService *SelfService `json:"selfService,omitempty"`

	// podSecurity is the Pod Security level enforced in the tenant's namespaces.
	// The home namespace is always restricted. Default: baseline.
	// +optional
	// +kubebuilder:default=baseline
	PodSecurity PodSecurityLevel `json:"podSecurity,omitempty"`
}

// SelfService bounds the namespaces that a tenant makes by itself.
type SelfService struct {
	// limit is how many namespaces the tenant may have made at one time.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Limit int32 `json:"limit"`

	// labels are stamped on each such namespace, over what the tenant wrote.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('tenantry.dev/') && !k.startsWith('pod-security.kubernetes.io/') && !k.startsWith('kubernetes.io/') && !k.startsWith('toolkit.fluxcd.io/'))",message="these labels are set by other fields"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are stamped on each such namespace, over what the tenant wrote.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('tenantry.dev/'))",message="annotations under tenantry.dev/ are Tenantry's"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// NetworkMode is how a tenant's pods are held from others.
// +kubebuilder:validation:Enum=isolated;open
type NetworkMode string

// The network modes.
const (
	NetworkIsolated NetworkMode = "isolated"
	NetworkOpen     NetworkMode = "open"
)

// NetworkSpec says whom a tenant's pods may talk to. It is held by the
// cluster's network plugin; one that ignores NetworkPolicy holds nothing.
type NetworkSpec struct {
	// mode is isolated (the default) or open. Isolated pods talk within the tenant, to
	// the cluster's DNS, with platform namespaces labelled tenantry.dev/gateway, and
	// to public addresses. Open leaves all traffic to other policies.
	// +optional
	// +kubebuilder:default=isolated
	Mode NetworkMode `json:"mode,omitempty"`

	// policies are further NetworkPolicies for every namespace of the tenant.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Policies []NetworkPolicy `json:"policies,omitempty"`
}

// NetworkPolicy is a named NetworkPolicy spec.
type NetworkPolicy struct {
	// name of the NetworkPolicy.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'tenantry-isolate'",message="tenantry-isolate is the name of the policy that mode: isolated makes"
	Name string `json:"name"`

	// spec as in networking.k8s.io/v1.
	// +required
	Spec networkingv1.NetworkPolicySpec `json:"spec"`
}

// TenantStatus is what Tenantry found and did.
type TenantStatus struct {
	// observedGeneration is the generation of the spec that this status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Ready, Reconciling, Stalled (kstatus) and Synced.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// owners is the owners' names on one line, for printing.
	// +optional
	Owners string `json:"owners,omitempty"`

	// namespaceCount is how many namespaces the tenant has access to.
	// +optional
	NamespaceCount int32 `json:"namespaceCount,omitempty"`

	// namespaces are the tenant's namespaces, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Namespaces []NamespaceStatus `json:"namespaces,omitempty"`

	// syncs are the tenant's syncs, in the order of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	Syncs []SyncStatus `json:"syncs,omitempty"`

	// refusals are what policies don't let through of what Flux applies for the tenant
	// or of Pods that its workloads ask for, the newest first, ten at most.
	// +optional
	// +listType=atomic
	Refusals []Refusal `json:"refusals,omitempty"`
}

// NamespaceOrigin says how a namespace came to be.
// +kubebuilder:validation:Enum=Home;Declared;Assigned;SelfService
type NamespaceOrigin string

// The origins of namespaces.
const (
	// OriginHome bears the tenant's name.
	OriginHome NamespaceOrigin = "Home"
	// OriginDeclared is listed in spec.namespaces.declared.
	OriginDeclared NamespaceOrigin = "Declared"
	// OriginAssigned was labelled for the tenant by a platform admin.
	OriginAssigned NamespaceOrigin = "Assigned"
	// OriginSelfService was made by the tenant.
	OriginSelfService NamespaceOrigin = "SelfService"
)

// NamespaceState says how far a namespace is.
// +kubebuilder:validation:Enum=Active;Pending;OverLimit;Terminating
type NamespaceState string

// The states of namespaces.
const (
	// NamespaceActive: adopted, every wall and binding stands.
	NamespaceActive NamespaceState = "Active"
	// NamespacePending: on its way.
	NamespacePending NamespaceState = "Pending"
	// NamespaceOverLimit: made past the limit; nobody of the tenant has access.
	NamespaceOverLimit NamespaceState = "OverLimit"
	// NamespaceTerminating: being deleted.
	NamespaceTerminating NamespaceState = "Terminating"
)

// NamespaceStatus is one namespace of a tenant.
type NamespaceStatus struct {
	// name of the namespace.
	// +required
	Name string `json:"name"`
	// origin says how it came to be.
	// +required
	Origin NamespaceOrigin `json:"origin"`
	// state says how far it is.
	// +required
	State NamespaceState `json:"state"`
}

// SyncStatus is one sync of a tenant.
type SyncStatus struct {
	// name of the sync.
	// +required
	Name string `json:"name"`
	// ready is the Ready condition of the sync's Flux objects: True, False or Unknown.
	// +required
	Ready metav1.ConditionStatus `json:"ready"`
	// revision that was applied last.
	// +optional
	Revision string `json:"revision,omitempty"`
	// message of the source or the Kustomization, whichever stands in the way.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
