// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

const (
	merge = types.MergePatchType
	json  = types.JSONPatchType
	apply = types.ApplyPatchType
)

// TestNamespaces holds every rule to its attack and its harmless twin, on every path.
func TestNamespaces(t *testing.T) {
	api := testkit.Get(t)
	build(t, api, tenant("oil"), tenant("gas"), tenant("far-north-sea-rig"))
	if err := api.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}); err != nil {
		t.Fatal(err)
	}

	full := tenant("full")
	full.Spec.Namespaces.SelfService.Limit = 1
	for _, o := range compile.Tenant(full, compile.Facts{Namespaces: []compile.Namespace{{Name: "full-web"}}}).Objects() {
		if err := kube.Apply(t.Context(), api.Client, o); err != nil {
			t.Fatal(err)
		}
	}
	provision(t, api, []*v1alpha1.Tenant{full})
	testkit.Eventually(t, 30*time.Second, "an owner of a full tenant is known", func() error {
		err := api.As(t, "full-owner").Create(background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "full-probe"}}, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "[namespaces/") {
			return fmt.Errorf("answered %w", err)
		}
		return nil
	})

	create := func(name string, change ...func(*corev1.Namespace)) func(client.Client) error {
		return func(c client.Client) error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}}
			if strings.HasSuffix(name, "*") {
				ns.Name, ns.GenerateName = "", strings.TrimSuffix(name, "*")
			}
			for _, f := range change {
				f(ns)
			}
			return c.Create(background(), ns, client.DryRunAll)
		}
	}
	label := func(k, v string) func(*corev1.Namespace) {
		return func(ns *corev1.Namespace) { ns.Labels[k] = v }
	}
	annotation := func(k, v string) func(*corev1.Namespace) {
		return func(ns *corev1.Namespace) { ns.Annotations[k] = v }
	}
	patch := func(name string, kind types.PatchType, body string, sub ...string) func(client.Client) error {
		return func(c client.Client) error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			p := client.RawPatch(kind, []byte(body))
			if len(sub) > 0 {
				return c.SubResource(sub[0]).Patch(background(), ns, p, &client.SubResourcePatchOptions{PatchOptions: patchOptions(kind)})
			}
			opts := patchOptions(kind)
			return c.Patch(background(), ns, p, &opts)
		}
	}
	remove := func(name string) func(client.Client) error {
		return func(c client.Client) error {
			return c.Delete(background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.DryRunAll)
		}
	}

	const (
		account  = "system:serviceaccount:oil:oil"
		owner    = "oil-owner"
		stranger = "namespace-operator" // may write every namespace by RBAC, and is no tenant
	)
	grantNamespaces(t, api, stranger)
	// Cluster-admin inside a tenant namespace, as a platform may have given by hand.
	grantClusterAdminIn(t, api, "oil-web", "oil-root")
	grantClusterAdminIn(t, api, "oil", "oil-root")

	for name, tc := range map[string]struct {
		as   string
		do   func(client.Client) error
		rule string // "" is allowed
	}{
		"an owner creates a plain namespace with the prefix":               {owner, create("oil-a"), ""},
		"the account creates a plain namespace with the prefix":            {account, create("oil-a"), ""},
		"the account creates one by server-side apply":                     {account, patch("oil-a", apply, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"oil-a"}}`), ""},
		"an owner creates a labelled namespace":                            {owner, create("oil-a", label("tenantry.dev/tenant", "oil")), ""},
		"an owner creates one with Flux's tenant label":                    {owner, create("oil-a", label("toolkit.fluxcd.io/tenant", "oil")), ""},
		"an owner creates one with labels of its own":                      {owner, create("oil-a", label("team", "x"), annotation("note", "y")), ""},
		"the account creates with generateName":                            {account, create("oil-*"), ""},
		"an owner creates with generateName and label":                     {owner, create("oil-*", label("tenantry.dev/tenant", "oil")), ""},
		"an owner of a tenant with a long name is stamped":                 {"far-north-sea-rig-owner", create("far-north-sea-rig-a-b-c"), ""},
		"an owner of two is stamped by prefix":                             {"both", create("gas-a"), ""},
		"an owner creates outside any prefix":                              {owner, create("other"), "in-a-tenant"},
		"the account creates outside its prefix":                           {account, create("other"), "name"},
		"the account creates in a foreign prefix":                          {account, create("gas-a"), "name"},
		"an owner creates in a foreign prefix":                             {owner, create("gas-a"), "in-a-tenant"},
		"an owner creates in a foreign prefix with its own label":          {owner, create("gas-a", label("tenantry.dev/tenant", "oil")), "name"},
		"an owner creates with a foreign label":                            {owner, create("gas-a", label("tenantry.dev/tenant", "gas")), "own"},
		"an owner of two mixes them":                                       {"both", create("gas-a", label("tenantry.dev/tenant", "oil")), "name"},
		"an owner creates its prefix without the dash":                     {owner, create("oilx", label("tenantry.dev/tenant", "oil")), "name"},
		"the account generates a foreign name":                             {account, create("kube-*"), "name"},
		"an owner generates a name without label":                          {owner, create("oil-*"), "in-a-tenant"},
		"an owner creates with the managed mark":                           {owner, create("oil-a", label("tenantry.dev/managed", "true")), "reserved"},
		"an owner creates as a gateway":                                    {owner, create("oil-a", label("tenantry.dev/gateway", "true")), "reserved"},
		"an owner creates with an annotation of ours":                      {owner, create("oil-a", annotation("tenantry.dev/anything", "x")), "reserved"},
		"an owner creates with a Pod Security level":                       {owner, create("oil-a", label("pod-security.kubernetes.io/enforce", "privileged")), "reserved"},
		"an owner creates with another's Flux label":                       {owner, create("oil-a", label("toolkit.fluxcd.io/tenant", "gas")), "reserved"},
		"an owner creates with a node selector":                            {owner, create("oil-a", annotation("scheduler.alpha.kubernetes.io/node-selector", "pool=gold")), "reserved"},
		"an owner creates with an ownerReference":                          {owner, create("oil-a", func(ns *corev1.Namespace) { ns.OwnerReferences = bogusOwner() }), "owner-references"},
		"an owner creates with a finalizer":                                {owner, create("oil-a", func(ns *corev1.Namespace) { ns.Finalizers = []string{"example.com/stay"} }), "finalizers"},
		"a stranger creates a namespace of no tenant":                      {stranger, create("other"), ""},
		"a stranger creates with a tenant's label":                         {stranger, create("oil-a", label("tenantry.dev/tenant", "oil")), "own"},
		"a stranger creates a gateway":                                     {stranger, create("other", label("tenantry.dev/gateway", "true")), "reserved"},
		"a stranger creates with an empty label of a tenant":               {stranger, create("other", label("tenantry.dev/tenant", "")), "reserved"},
		"a stranger puts an empty label of a tenant on a namespace":        {stranger, patch("plain", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":""}}}`), "reserved"},
		"a stranger sets a Pod Security level on a namespace of no tenant": {stranger, patch("plain", merge, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`), ""},
		"a stranger labels a tenant namespace with its own key":            {stranger, patch("oil-web", merge, `{"metadata":{"labels":{"backup":"daily"}}}`), ""},
		"a stranger takes a tenant namespace's label":                      {stranger, patch("oil-web", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":null}}}`), "keep-tenant"},
		"a stranger gives kube-system to a tenant":                         {stranger, patch("kube-system", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":"oil"}}}`), "keep-tenant"},

		"an owner labels its namespace, merge":         {owner, patch("oil-web", merge, `{"metadata":{"labels":{"team":"x"}}}`), ""},
		"an owner labels its namespace, JSON":          {owner, patch("oil-web", json, `[{"op":"add","path":"/metadata/labels/team","value":"x"}]`), ""},
		"an owner labels its namespace, apply":         {owner, patch("oil-web", apply, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"oil-web","labels":{"team":"x"}}}`), ""},
		"an owner labels its home namespace":           {owner, patch("oil", merge, `{"metadata":{"labels":{"team":"x"}}}`), ""},
		"takeover of kube-system by label, merge":      {owner, patch("kube-system", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":"oil"}}}`), "in-a-tenant"},
		"takeover of kube-system by label, JSON":       {owner, patch("kube-system", json, `[{"op":"add","path":"/metadata/labels/tenantry.dev~1tenant","value":"oil"}]`), "in-a-tenant"},
		"takeover of kube-system by label, apply":      {owner, patch("kube-system", apply, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","labels":{"tenantry.dev/tenant":"oil"}}}`), "in-a-tenant"},
		"any label on kube-system":                     {owner, patch("kube-system", merge, `{"metadata":{"labels":{"x":"y"}}}`), "in-a-tenant"},
		"any annotation on kube-system":                {owner, patch("kube-system", merge, `{"metadata":{"annotations":{"x":"y"}}}`), "in-a-tenant"},
		"an ownerReference on kube-system":             {owner, patch("kube-system", merge, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}}`), "in-a-tenant"},
		"takeover of a foreign namespace, merge":       {owner, patch("gas-web", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":"oil"}}}`), "own"},
		"takeover of a foreign namespace, JSON":        {owner, patch("gas-web", json, `[{"op":"replace","path":"/metadata/labels/tenantry.dev~1tenant","value":"oil"}]`), "own"},
		"takeover of a foreign namespace, apply":       {account, patch("gas-web", apply, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"gas-web","labels":{"tenantry.dev/tenant":"oil"}}}`), "own"},
		"a label on a foreign namespace":               {owner, patch("gas-web", merge, `{"metadata":{"labels":{"x":"y"}}}`), "own"},
		"an owner frees its namespace, merge":          {owner, patch("oil-web", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":null}}}`), "keep-tenant"},
		"an owner frees its namespace, JSON":           {owner, patch("oil-web", json, `[{"op":"remove","path":"/metadata/labels/tenantry.dev~1tenant"}]`), "keep-tenant"},
		"an owner gives its namespace away":            {"both", patch("oil-web", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":"gas"}}}`), "keep-tenant"},
		"an owner raises its Pod Security, merge":      {owner, patch("oil-web", merge, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`), "reserved"},
		"an owner raises its Pod Security, apply":      {account, patch("oil-web", apply, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"oil-web","labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`), "reserved"},
		"an owner removes its Pod Security":            {owner, patch("oil-web", merge, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`), "reserved"},
		"an owner forges the managed mark":             {owner, patch("oil-web", merge, `{"metadata":{"labels":{"tenantry.dev/managed":"true"}}}`), "reserved"},
		"an owner forges an annotation of ours":        {owner, patch("oil-web", merge, `{"metadata":{"annotations":{"tenantry.dev/sources":"*"}}}`), "reserved"},
		"an owner sets an ownerReference":              {owner, patch("oil-web", merge, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}}`), "owner-references"},
		"an owner squats by finalizer":                 {owner, patch("oil-web", merge, `{"metadata":{"finalizers":["example.com/stay"]}}`), "finalizers"},
		"a root of the namespace, label by status":     {"oil-root", patch("oil-web", merge, `{"metadata":{"labels":{"tenantry.dev/tenant":"gas"}}}`, "status"), "keep-tenant"},
		"a root of the namespace, level by status":     {"oil-root", patch("oil-web", json, `[{"op":"replace","path":"/metadata/labels/pod-security.kubernetes.io~1enforce","value":"privileged"}]`, "status"), "reserved"},
		"a root of the namespace, owner by status":     {"oil-root", patch("oil-web", merge, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}}`, "status"), "owner-references"},
		"a root of the namespace, apply to status":     {"oil-root", patch("oil-web", apply, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"oil-web","labels":{"tenantry.dev/tenant":"gas"}}}`, "status"), "keep-tenant"},
		"a root of the namespace, harmless status":     {"oil-root", patch("oil-web", merge, `{"metadata":{"labels":{"team":"x"}}}`, "status"), ""},
		"a root of the namespace, label by finalize":   {"oil-root", finalize(func(ns *corev1.Namespace) { ns.Labels["tenantry.dev/tenant"] = "gas" }), "keep-tenant"},
		"a root of the namespace, owner by finalize":   {"oil-root", finalize(func(ns *corev1.Namespace) { ns.OwnerReferences = bogusOwner() }), "owner-references"},
		"a root of the namespace, empties finalizers":  {"oil-root", finalize(func(ns *corev1.Namespace) { ns.Spec.Finalizers = nil }), "finalizers"},
		"a root of the namespace, harmless finalize":   {"oil-root", finalize(func(*corev1.Namespace) {}), ""},
		"an owner deletes the namespace it made":       {owner, remove("oil-web"), ""},
		"an owner deletes its home namespace":          {owner, remove("oil"), "keep-managed"},
		"a root of the home namespace deletes it":      {"oil-root", remove("oil"), "keep-managed"},
		"an owner of a full tenant creates":            {"full-owner", create("full-more", label("tenantry.dev/tenant", "full")), "grow"},
		"a platform admin does anything":               {"", patch("oil-web", merge, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`), ""},
		"a platform admin creates for a tenant":        {"", create("legacy", label("tenantry.dev/tenant", "oil")), ""},
		"a platform admin creates a system namespace":  {"", create("monitoring"), ""},
		"a platform admin deletes any namespace":       {"", remove("oil"), ""},
		"an owner of oil creates in overlapping names": {owner, create("oil-gas-x", label("tenantry.dev/tenant", "gas")), "own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client.Client(api.Client)
			if tc.as != "" {
				c = api.As(t, tc.as)
			}
			if slices.Contains(stamped, name) && !stamps(t, api) {
				tc.rule = "in-a-tenant"
			}
			expect(t, tc.do(c), "namespaces", tc.rule)
		})
	}
}

// stamped are cases of namespaces that come without the label. Before Kubernetes 1.36
// nothing adds it.
var stamped = []string{
	"an owner creates a plain namespace with the prefix", "the account creates a plain namespace with the prefix",
	"the account creates one by server-side apply", "an owner creates one with Flux's tenant label",
	"an owner creates one with labels of its own", "the account creates with generateName",
	"an owner of a tenant with a long name is stamped", "an owner of two is stamped by prefix",
	"the account creates outside its prefix", "the account creates in a foreign prefix", "the account generates a foreign name",
	"an owner creates with the managed mark", "an owner creates as a gateway", "an owner creates with an annotation of ours",
	"an owner creates with a Pod Security level", "an owner creates with another's Flux label", "an owner creates with a node selector",
	"an owner creates with an ownerReference", "an owner creates with a finalizer",
}

// stamps tells whether the API server has the policy that labels namespaces.
func stamps(t *testing.T, api *testkit.API) bool {
	t.Helper()
	gvk := policy.Stamp().GroupVersionKind()
	_, err := api.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		t.Fatal(err)
	}
	return err == nil
}
