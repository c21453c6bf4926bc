// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// dataOf is what admission policies read of a Tenant: lists that ride on its namespaces
// as annotations, so that no policy has to look for them. A list that allows nothing
// is empty or not there.
func dataOf(t *v1alpha1.Tenant, namespaces []v1alpha1.NamespaceStatus, facts Facts) map[string]string {
	spec := &t.Spec
	data := map[string]string{}
	put := func(annotation string, list []string) {
		list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
		slices.Sort(list)
		if list = slices.Compact(list); len(list) > 0 {
			data[annotation] = strings.Join(list, ",")
		}
	}
	put(v1alpha1.NamespacesAnnotation, unlike(t.Name, namespaces))
	put(v1alpha1.StrangersAnnotation, facts.Strangers)
	excepted, audited := exceptions(t, facts)
	put(v1alpha1.ExceptedAnnotation, excepted)
	put(v1alpha1.AuditedAnnotation, audited)

	data[v1alpha1.SourcesAnnotation] = "" // always there, so that a new namespace is written once
	put(v1alpha1.SourcesAnnotation, append(syncURLs(t), spec.Sources.Allow...))
	put(v1alpha1.BucketsAnnotation, buckets(spec.Sources.Buckets))
	if v := spec.Sources.Verify; v != nil {
		if len(v.SecretNames) == 0 {
			put(v1alpha1.VerifyAnnotation, []string{"*"})
		}
		put(v1alpha1.VerifyAnnotation, v.SecretNames)
	}
	put(v1alpha1.DomainsAnnotation, slices.DeleteFunc(slices.Clone(spec.Domains), func(d string) bool {
		return slices.Contains(facts.TakenDomains, d)
	}))
	put(v1alpha1.NetworkAnnotation, []string{string(networkMode(t))})

	allow := &spec.Allow
	put(v1alpha1.AddressesAnnotation, allow.Addresses)
	put(v1alpha1.KubeConfigsAnnotation, allow.KubeConfigs)
	put(v1alpha1.AccountsAnnotation, allow.Accounts)
	put(v1alpha1.ServiceTypesAnnotation, orDefault(texts(allow.ServiceTypes), []string{"ClusterIP"}))
	put(v1alpha1.IngressClassesAnnotation, orDefault(allow.IngressClasses, facts.Defaults.Ingress))
	put(v1alpha1.GatewayClassesAnnotation, allow.GatewayClasses)
	put(v1alpha1.GatewaysAnnotation, allow.Gateways)
	put(v1alpha1.StorageClassesAnnotation, orDefault(allow.StorageClasses, facts.Defaults.Storage))
	put(v1alpha1.VolumeAttributesClassesAnnotation, allow.VolumeAttributesClasses)
	put(v1alpha1.SnapshotClassesAnnotation, allow.SnapshotClasses)
	put(v1alpha1.PriorityClassesAnnotation, orDefault(allow.PriorityClasses, facts.Defaults.Priority))
	put(v1alpha1.RuntimeClassesAnnotation, allow.RuntimeClasses)
	put(v1alpha1.DeviceClassesAnnotation, allow.DeviceClasses)
	put(v1alpha1.RegistriesAnnotation, allow.Registries)
	put(v1alpha1.PullPoliciesAnnotation, texts(allow.PullPolicies))
	put(v1alpha1.TolerationsAnnotation, allow.Tolerations)
	put(v1alpha1.NodeSelectorsAnnotation, allow.NodeSelectors)

	put(v1alpha1.SecretStoresAnnotation, spec.Secrets.Stores)
	if len(spec.Secrets.Stores) > 0 {
		put(v1alpha1.SecretPrefixesAnnotation, orDefault(spec.Secrets.KeyPrefixes, []string{t.Name + "/", t.Name + "-"}))
	}
	put(v1alpha1.SecretProvidersAnnotation, spec.Secrets.Providers)
	return data
}

func orDefault(list, fallback []string) []string {
	if len(list) == 0 {
		return fallback
	}
	return list
}

func texts[T ~string](list []T) []string {
	var all []string
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

// unlike are namespaces of the tenant that can't be told by their names.
func unlike(tenant string, namespaces []v1alpha1.NamespaceStatus) []string {
	var all []string
	for _, ns := range namespaces {
		if ns.Name != tenant && !strings.HasPrefix(ns.Name, tenant+"-") {
			all = append(all, ns.Name)
		}
	}
	return all
}

// exceptions are the rules that don't deny, and those of them that warn. One that has
// ended is none.
func exceptions(t *v1alpha1.Tenant, facts Facts) (excepted, audited []string) {
	for _, e := range t.Spec.Exceptions {
		if e.Until != nil && !facts.Now.Before(e.Until.Time) {
			continue
		}
		excepted = append(excepted, e.Rule)
		if e.Action == v1alpha1.ExceptionAudit {
			audited = append(audited, e.Rule)
		}
	}
	return excepted, audited
}

// syncURLs are those that the platform itself gave the tenant.
func syncURLs(t *v1alpha1.Tenant) []string {
	var all []string
	for _, s := range t.Spec.Syncs {
		switch {
		case s.Source.Git != nil:
			all = append(all, exactly(s.Source.Git.URL))
		case s.Source.OCI != nil:
			all = append(all, exactly(s.Source.OCI.URL))
		}
	}
	return all
}

// exactly leaves out a URL that the policies would take for more than itself.
func exactly(url string) string {
	if strings.HasSuffix(url, "/") || strings.Contains(url, ",") {
		return ""
	}
	return url
}

func buckets(allowed []v1alpha1.AllowedBucket) []string {
	var all []string
	for _, b := range allowed {
		all = append(all, strings.Join([]string{cmp.Or(b.Provider, "generic"), b.Endpoint, b.Region, b.Name}, "|"))
	}
	return all
}

func networkMode(t *v1alpha1.Tenant) v1alpha1.NetworkMode {
	return cmp.Or(t.Spec.Network.Mode, v1alpha1.NetworkIsolated)
}
