// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Identity is who asks, by its part in a scene.
type Identity string

// The parts.
const (
	// AsAccount is the tenant's account in its home namespace, which Flux acts as.
	AsAccount Identity = "account"
	// AsLocal is the tenant's account in one of its other namespaces.
	AsLocal Identity = "local"
	// AsOwner, AsEditor and AsViewer are owners of those roles.
	AsOwner  Identity = "owner"
	AsEditor Identity = "editor"
	AsViewer Identity = "viewer"
	// AsWorkload is the account that a Pod of the tenant has by default.
	AsWorkload Identity = "workload"
	// AsNeighbour is another tenant's account.
	AsNeighbour Identity = "neighbour"
	// AsOutsider is known to the cluster and has nothing there; AsAnonymous is nobody.
	AsOutsider  Identity = "outsider"
	AsAnonymous Identity = "anonymous"
	// AsController is Tenantry's own controller.
	AsController Identity = "controller"
	// AsReplicaSets is the part of the cluster that makes Pods of what tenants wrote.
	AsReplicaSets Identity = "replicasets"
	// AsRoot has every right in the tenant's namespaces that RBAC can give there. Tests
	// make one, for the walls that stand behind RBAC.
	AsRoot Identity = "root"
	// AsWriter may write in every namespace of the tenant and owns nothing. Tests make one.
	AsWriter Identity = "writer"
)

// Subject is an identity as the API server sees it.
type Subject struct {
	User   string
	Groups []string
}

// Scene is what an attack is played on: one tenant, its names and what it is allowed.
// Pure: gathered once, then only read.
type Scene struct {
	Tenant string
	// Values fill what objects leave open. A nil value takes out its field.
	Values map[string]any
	// Missing says why a value is not there.
	Missing map[string]string
	// Subjects are the identities that there are.
	Subjects map[Identity]Subject
	// Excepted are rules that the Tenant lets this tenant off.
	Excepted []string
	// Absent says why nothing can be played on this tenant.
	Absent string
}

// SceneFacts are what a scene is made of.
type SceneFacts struct {
	Tenant *v1alpha1.Tenant
	// Namespaces of the cluster, by name.
	Namespaces map[string]*corev1.Namespace
	// Others are the other tenants of the cluster.
	Others []*v1alpha1.Tenant
	// RuntimeClasses and PriorityClasses of the cluster: what is of a class that isn't
	// there is refused for another reason.
	RuntimeClasses, PriorityClasses []string
	// Root is a user with every right in the tenant's namespaces, and Writer one with
	// the role admin there who does not own the tenant, where tests made them.
	Root, Writer string
	// OwnerVolumes says that an owner has a right to volumes, as tests give it.
	OwnerVolumes bool
}

// NewScene makes the scene for a tenant.
func NewScene(f SceneFacts) Scene {
	t := f.Tenant
	s := Scene{Tenant: t.Name, Values: map[string]any{}, Missing: map[string]string{}, Subjects: map[Identity]Subject{}}
	web := someNamespace(t)
	s.Values["TENANT"], s.Values["HOME"], s.Values["WEB"] = t.Name, t.Name, web
	s.Values["FLUX"] = "flux-system"
	// A new name for every scene, so that scenes never meet.
	s.Values["NEW"] = t.Name + "-tenantry-audit"
	s.identities(f, web)
	s.others(f)
	s.flags(t, web, f.Namespaces[web])
	s.growth(f)
	ns := f.Namespaces[web]
	if ns == nil {
		s.Absent = "namespace " + web + " of the tenant is not there"
		ns = &corev1.Namespace{}
	}
	s.lists(list{ns.Annotations}, f)
	s.Excepted = list{ns.Annotations}.of(v1alpha1.ExceptedAnnotation)
	return s
}

// someNamespace is one that the tenant works in: not its home, if it has another.
func someNamespace(t *v1alpha1.Tenant) string {
	for _, ns := range t.Status.Namespaces {
		if ns.State == v1alpha1.NamespaceActive && ns.Origin != v1alpha1.OriginHome {
			return ns.Name
		}
	}
	return t.Name
}

// Account is a ServiceAccount as the API server sees it.
func Account(namespace, name string) Subject {
	return Subject{User: "system:serviceaccount:" + namespace + ":" + name}
}

func (s *Scene) identities(f SceneFacts, web string) {
	t := f.Tenant
	s.Subjects[AsAccount] = Account(t.Name, t.Name)
	s.Subjects[AsLocal] = Account(web, t.Name)
	s.Subjects[AsWorkload] = Account(web, "default")
	s.Subjects[AsOutsider] = Subject{User: "tenantry-audit"}
	s.Subjects[AsAnonymous] = Subject{User: "system:anonymous", Groups: []string{"system:unauthenticated"}}
	s.Subjects[AsController] = Account("tenantry-system", "tenantry-controller")
	s.Subjects[AsReplicaSets] = Account("kube-system", "replicaset-controller")
	if f.Root != "" {
		s.Subjects[AsRoot] = Subject{User: f.Root}
	}
	if f.Writer != "" {
		s.Subjects[AsWriter] = Subject{User: f.Writer}
	}
	for _, o := range t.Spec.Owners {
		as := map[v1alpha1.Role]Identity{"": AsOwner, v1alpha1.RoleAdmin: AsOwner, v1alpha1.RoleEdit: AsEditor, v1alpha1.RoleView: AsViewer}[o.Role]
		if _, taken := s.Subjects[as]; taken || len(o.ClusterRoles) > 0 {
			continue // what further roles give is the platform's choice
		}
		switch o.Kind {
		case v1alpha1.OwnerUser:
			s.Subjects[as] = Subject{User: o.Name}
		case v1alpha1.OwnerGroup:
			s.Subjects[as] = Subject{User: "tenantry-audit", Groups: []string{o.Name, "system:authenticated"}}
		case v1alpha1.OwnerServiceAccount:
			s.Subjects[as] = Account(o.Namespace, o.Name)
		}
	}
}

func (s *Scene) others(f SceneFacts) {
	for _, o := range f.Others {
		if o.Name == s.Tenant || o.Spec.Cordoned {
			continue // a frozen one may do nothing harmless
		}
		s.Values["OTHER"], s.Values["OTHERWEB"] = o.Name, someNamespace(o)
		s.Subjects[AsNeighbour] = Account(o.Name, o.Name)
		return
	}
	s.Missing["OTHER"] = "there is no second tenant on this cluster that is not frozen"
	s.Missing["OTHERWEB"] = s.Missing["OTHER"]
}

// flags are values that only say that something is so.
func (s *Scene) flags(t *v1alpha1.Tenant, web string, ns *corev1.Namespace) {
	s.set("CHILD", web, web != t.Name, "the tenant has no namespace but its home")
	s.set("SELFSERVICE", true, t.Spec.Namespaces.SelfService != nil, "the Tenant lets nobody make namespaces")
	s.set("NOSELFSERVICE", true, t.Spec.Namespaces.SelfService == nil, "the Tenant lets its owners make namespaces")
	s.set("ISOLATED", true, t.Spec.Network.Mode != v1alpha1.NetworkOpen, "the Tenant's network is open")
	s.set("QUOTA", true, len(t.Spec.Quota) > 0, "the Tenant has no quota")
	pods, bounded := t.Spec.Quota[corev1.ResourceRequestsCPU]
	s.set("MORECPU", more(pods.Value()), bounded, "the Tenant's quota does not bound requests.cpu")
	s.set("LIMITS", true, len(t.Spec.Limits) > 0, "the Tenant has no limits")
	level := t.Spec.Namespaces.PodSecurity
	if web == t.Name {
		level = v1alpha1.PodSecurityRestricted
	}
	s.set("BASELINE", true, level != v1alpha1.PodSecurityPrivileged, "the Tenant's Pod Security level is privileged")
	s.set("FROZEN", true, ns != nil && ns.Labels[v1alpha1.CordonLabel] == v1alpha1.CordonAll, "the tenant is not frozen")
	s.set("ACTIVE", true, ns == nil || ns.Labels[v1alpha1.CordonLabel] == "", "the tenant is frozen, so it may write nothing at all")
}

// growth is whether namespaces may be made.
func (s *Scene) growth(f SceneFacts) {
	grows, full := growing(f.Tenant)
	s.set("GROWS", true, grows, "the Tenant lets nobody make another namespace")
	s.set("FULL", true, full, "the tenant is below its limit of namespaces")
	s.set("OWNERVOLUMES", true, f.OwnerVolumes, "nobody of the tenant has the rights to get past RBAC to this wall")
	web, there := f.Namespaces[s.Values["WEB"].(string)]
	admin := there && web.Labels["resource.kubernetes.io/admin-access"] == "true"
	s.set("ADMINACCESS", true, admin, "the namespace is not let claim devices as an admin, which the API itself asks for")
	s.set("NOADMINACCESS", true, !admin, "a platform admin let the namespace claim devices as an admin")
	for _, o := range f.Others {
		if o.Name == s.Values["OTHER"] {
			grows, _ := growing(o)
			s.set("NEIGHBOURGROWS", true, grows, "the other tenant may make no namespaces")
		}
	}
	if s.Values["OTHER"] == nil {
		s.Missing["NEIGHBOURGROWS"] = s.Missing["OTHER"]
	}
}

// growing tells whether a tenant may make a namespace, and whether its limit is why not.
func growing(t *v1alpha1.Tenant) (grows, full bool) {
	self := t.Spec.Namespaces.SelfService
	if self == nil || t.Spec.Cordoned {
		return false, false
	}
	var made int32
	for _, ns := range t.Status.Namespaces {
		if ns.Origin == v1alpha1.OriginSelfService {
			made++
		}
	}
	return made < self.Limit, made >= self.Limit
}

// more is an amount of CPU past a quota.
func more(quota int64) string {
	return quantity(quota + 1)
}

func (s *Scene) set(name string, value any, there bool, why string) {
	if there {
		s.Values[name] = value
	} else {
		s.Missing[name] = why
	}
}

// list reads the lists that ride on a namespace.
type list struct{ annotations map[string]string }

func (l list) of(annotation string) []string {
	return slices.DeleteFunc(strings.Split(l.annotations[annotation], ","), func(s string) bool { return s == "" })
}

// first is the first of a list that fits, or "".
func (l list) first(annotation string, fits ...string) string {
	for _, v := range l.of(annotation) {
		if len(fits) == 0 || slices.ContainsFunc(fits, func(p string) bool { return strings.HasPrefix(v, p) }) {
			return v
		}
	}
	return ""
}

// below is an address within an allowed one.
func below(allowed, rest string) string {
	if strings.HasSuffix(allowed, "/") {
		return allowed + rest
	}
	return allowed
}

// lists are what the tenant is allowed, one of each, and what it is not.
func (s *Scene) lists(l list, f SceneFacts) {
	one := func(name, annotation, field string, fits ...string) string {
		v := l.first(annotation, fits...)
		s.set(name, v, v != "", field+" of the Tenant allows none, so no harmless one can be tried")
		return v
	}
	for _, a := range []struct {
		name string
		fits []string
	}{{"GIT", []string{"https://", "ssh://"}}, {"HELM", []string{"https://", "oci://"}}, {"OCI", []string{"oci://"}}} {
		if v := one(a.name, v1alpha1.SourcesAnnotation, "spec.sources.allow", a.fits...); v != "" {
			s.Values[a.name] = below(v, "tenantry-audit")
		}
	}
	s.Values["HELMTYPE"] = nil
	if v, _ := s.Values["HELM"].(string); strings.HasPrefix(v, "oci://") {
		s.Values["HELMTYPE"] = "oci"
	}
	if v, ok := s.Values["OCI"].(string); ok {
		s.Values["OCIIMAGE"] = strings.TrimPrefix(v, "oci://")
	} else {
		s.Missing["OCIIMAGE"] = s.Missing["OCI"]
	}
	s.bucket(one("BUCKET", v1alpha1.BucketsAnnotation, "spec.sources.buckets"))
	s.verify(l)
	if v := one("ADDRESS", v1alpha1.AddressesAnnotation, "spec.allow.addresses"); v != "" {
		s.Values["ADDRESS"] = below(v, "tenantry-audit")
	}
	if v := one("DOMAIN", v1alpha1.DomainsAnnotation, "spec.domains"); v != "" {
		s.Values["HOST"] = "tenantry-audit." + v
	} else {
		s.Missing["HOST"] = s.Missing["DOMAIN"]
	}
	one("GATEWAYCLASS", v1alpha1.GatewayClassesAnnotation, "spec.allow.gatewayClasses")
	one("DEVICECLASS", v1alpha1.DeviceClassesAnnotation, "spec.allow.deviceClasses")
	one("STORE", v1alpha1.SecretStoresAnnotation, "spec.secrets.stores")
	one("KEY", v1alpha1.SecretPrefixesAnnotation, "spec.secrets.stores")
	s.provider(one("PROVIDER", v1alpha1.SecretProvidersAnnotation, "spec.secrets.providers"), l)
	s.images(l)
	s.set("BADSERVICETYPE", other(l.of(v1alpha1.ServiceTypesAnnotation), "NodePort", "LoadBalancer"),
		other(l.of(v1alpha1.ServiceTypesAnnotation), "NodePort", "LoadBalancer") != "", "spec.allow.serviceTypes of the Tenant allows every type")
	s.set("NOEXTERNALNAME", true, !slices.Contains(l.of(v1alpha1.ServiceTypesAnnotation), "ExternalName"), "spec.allow.serviceTypes of the Tenant allows it")
	runtime := other(l.of(v1alpha1.RuntimeClassesAnnotation), f.RuntimeClasses...)
	s.set("RUNTIMECLASS", runtime, runtime != "", "the cluster has no RuntimeClass that the Tenant does not allow")
	priority := other(l.of(v1alpha1.PriorityClassesAnnotation), f.PriorityClasses...)
	s.set("PRIORITYCLASS", priority, priority != "", "the cluster has no PriorityClass that the Tenant does not allow")
}

// other is the first candidate that is in no list.
func other(allowed []string, candidates ...string) string {
	for _, c := range candidates {
		if !slices.Contains(allowed, c) {
			return c
		}
	}
	return ""
}

func (s *Scene) bucket(allowed string) {
	part := strings.Split(allowed, "|")
	if len(part) != 4 {
		why := cmp.Or(s.Missing["BUCKET"], "the list of buckets on the namespace can't be read")
		delete(s.Values, "BUCKET")
		for _, name := range []string{"BUCKET", "BUCKETPROVIDER", "BUCKETENDPOINT", "BUCKETREGION", "STS"} {
			s.Missing[name] = why
		}
		return
	}
	s.Values["BUCKETPROVIDER"], s.Values["BUCKETENDPOINT"] = part[0], part[1]
	sts := map[string]string{"generic": "ldap", "aws": "aws"}[part[0]]
	s.set("STS", sts, sts != "", "Flux asks no token service for buckets of "+part[0])
	s.Values["BUCKETREGION"] = nil
	if part[2] != "" {
		s.Values["BUCKETREGION"] = part[2]
	}
	s.Values["BUCKET"] = strings.Replace(part[3], "*", "tenantry-audit", 1)
}

// verify is how sources of this tenant are signed, if they have to be.
func (s *Scene) verify(l list) {
	keys := l.of(v1alpha1.VerifyAnnotation)
	s.set("SIGNED", true, len(keys) > 0, "spec.sources.verify of the Tenant asks for no signatures")
	s.set("UNSIGNED", true, len(keys) == 0, "spec.sources.verify of the Tenant asks for signatures, which this kind has none of")
	s.Values["VERIFYGIT"], s.Values["VERIFYOCI"] = nil, nil
	if len(keys) > 0 {
		name := map[string]any{"name": strings.Replace(keys[0], "*", "tenantry-audit", 1)}
		s.Values["VERIFYGIT"] = map[string]any{"mode": "HEAD", "secretRef": name}
		s.Values["VERIFYOCI"] = map[string]any{"provider": "cosign", "secretRef": name}
	}
	kept := slices.DeleteFunc(slices.Concat(keys, l.of(v1alpha1.KubeConfigsAnnotation)), func(k string) bool { return k == "*" })
	s.set("KEPT", slices.Concat(kept, []string{""})[0], len(kept) > 0, "the Tenant names no Secret of the platform's")
}

// providers of secrets, with as little as their schemas ask for.
var providers = map[string]any{
	"fake":       map[string]any{"data": []any{}},
	"aws":        map[string]any{"service": "SecretsManager", "region": "eu-west-1"},
	"gcpsm":      map[string]any{},
	"azurekv":    map[string]any{"vaultUrl": "https://vault.example.com"},
	"vault":      map[string]any{"server": "https://vault.example.com", "auth": map[string]any{"tokenSecretRef": map[string]any{"name": "x", "key": "x"}}},
	"kubernetes": map[string]any{"remoteNamespace": "x"},
}

func (s *Scene) provider(allowed string, l list) {
	foreign := other(l.of(v1alpha1.SecretProvidersAnnotation), "fake", "aws")
	s.set("OTHERPROVIDER", foreign, foreign != "", "spec.secrets.providers of the Tenant allows all that is tried")
	s.Values["OTHERPROVIDERSPEC"] = providers[foreign]
	spec, known := providers[allowed]
	s.set("PROVIDERSPEC", spec, known, "no harmless store of an allowed provider is known")
}

func (s *Scene) images(l list) {
	registry := l.first(v1alpha1.RegistriesAnnotation)
	s.set("REGISTRIES", true, registry != "", "spec.allow.registries of the Tenant allows any")
	switch {
	case registry == "":
		s.Values["IMAGE"] = "registry.k8s.io/pause:3.10"
	case strings.HasSuffix(registry, "/"):
		s.Values["IMAGE"] = registry + "tenantry-audit:1"
	default:
		s.Values["IMAGE"] = registry + ":1"
	}
	policies := l.of(v1alpha1.PullPoliciesAnnotation)
	s.Values["PULL"] = cmp.Or(l.first(v1alpha1.PullPoliciesAnnotation), "Always")
	bad := other(policies, "Never", "IfNotPresent", "Always")
	s.set("BADPULL", bad, len(policies) > 0 && bad != "", "spec.allow.pullPolicies of the Tenant allows any")
}

// lets says that the Tenant lets this tenant do what an attack tries, or "".
func (s Scene) lets(a *Attack) string {
	if slices.Contains(s.Excepted, a.Wall) {
		return "spec.exceptions of the Tenant lets this tenant off " + a.Wall
	}
	return ""
}

// subject is who makes an attack, or why nobody can.
func (s Scene) subject(a *Attack) (who Subject, why string) {
	as := cmp.Or(a.As, AsAccount)
	if who, ok := s.Subjects[as]; ok {
		return who, ""
	}
	switch as {
	case AsRoot, AsWriter:
		return who, "nobody of the tenant has the rights to get past RBAC to this wall"
	case AsNeighbour:
		return who, s.Missing["OTHER"]
	default:
		return who, "the Tenant has no owner with role " + map[Identity]string{AsOwner: "admin", AsEditor: "edit", AsViewer: "view"}[as]
	}
}
