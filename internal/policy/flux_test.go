// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/testkit"
)

const kustomization = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: NS}
spec:
  interval: 1m
  prune: true
  serviceAccountName: wind
  sourceRef: {kind: GitRepository, name: app}
`

const release = `
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: app, namespace: NS}
spec:
  interval: 1m
  serviceAccountName: wind
  chart:
    spec:
      chart: app
      sourceRef: {kind: GitRepository, name: app}
`

const alert = `
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: app, namespace: NS}
spec:
  providerRef: {name: chat}
  eventSources:
    - {kind: Kustomization, name: app}
`

const receiver = `
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: app, namespace: NS}
spec:
  type: generic
  secretRef: {name: token}
  resources:
    - {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: app}
`

const gitRepository = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: NS}
spec:
  interval: 1m
  url: https://git.example.com/wind/app
`

// TestFlux holds every rule about Flux objects to its attack and its harmless twin.
func TestFlux(t *testing.T) {
	api := testkit.Get(t)
	build(t, api, tenant("wind"))
	// May write every Flux object in the home namespace and owns nothing.
	grantIn(t, api, "wind", "wind-writer", "tenantry:admin")
	// An admin of one namespace, by the tenant's own choice.
	grantIn(t, api, "wind-web", "wind-web-admin", "tenantry:admin")

	const owner, account, local = "wind-owner", "system:serviceaccount:wind:wind", "system:serviceaccount:wind-web:wind"
	for name, tc := range map[string]struct {
		as, namespace, manifest string
		change                  string // YAML merged over the manifest
		policy, rule            string
	}{
		"the account may":                       {account, "wind", kustomization, ``, "", ""},
		"an owner may":                          {owner, "wind", kustomization, ``, "", ""},
		"an owner may elsewhere":                {owner, "wind-web", kustomization, ``, "", ""},
		"the local account may":                 {local, "wind-web", kustomization, ``, "", ""},
		"an admin of the namespace may there":   {"wind-web-admin", "wind-web", kustomization, ``, "", ""},
		"no account":                            {owner, "wind", kustomization, `spec: {serviceAccountName: null}`, "kustomizations", "account"},
		"an empty account":                      {owner, "wind", kustomization, `spec: {serviceAccountName: ""}`, "kustomizations", "account"},
		"another account":                       {owner, "wind", kustomization, `spec: {serviceAccountName: default}`, "kustomizations", "account"},
		"a writer borrows the home account":     {"wind-writer", "wind", kustomization, ``, "kustomizations", "borrowed-account"},
		"a source of another namespace":         {owner, "wind", kustomization, `spec: {sourceRef: {namespace: flux-system}}`, "kustomizations", "sourceRef"},
		"a source of its own namespace":         {owner, "wind", kustomization, `spec: {sourceRef: {namespace: wind}}`, "", ""},
		"depends on another namespace":          {owner, "wind", kustomization, `spec: {dependsOn: [{name: x}, {name: x, namespace: flux-system, readyExpr: "true"}]}`, "kustomizations", "dependsOn"},
		"depends on its own namespace":          {owner, "wind", kustomization, `spec: {dependsOn: [{name: x}, {name: z, namespace: wind}]}`, "", ""},
		"a kubeconfig of its own":               {owner, "wind", kustomization, `spec: {kubeConfig: {secretRef: {name: x}}}`, "kustomizations", "kube-config"},
		"a shard":                               {owner, "wind", kustomization, `metadata: {labels: {sharding.fluxcd.io/key: s1}}`, "kustomizations", "shard"},
		"another label":                         {owner, "wind", kustomization, `metadata: {labels: {team: x}}`, "", ""},
		"release: the account may":              {account, "wind", release, ``, "", ""},
		"release: no account":                   {owner, "wind", release, `spec: {serviceAccountName: null}`, "helmreleases", "account"},
		"release: another account":              {owner, "wind", release, `spec: {serviceAccountName: other}`, "helmreleases", "account"},
		"release: a writer borrows":             {"wind-writer", "wind", release, ``, "helmreleases", "borrowed-account"},
		"release: a chart of another namespace": {owner, "wind", release, `spec: {chart: {spec: {sourceRef: {namespace: flux-system}}}}`, "helmreleases", "chart.spec.sourceRef"},
		"release: a chartRef elsewhere":         {owner, "wind", release, `spec: {chart: null, chartRef: {kind: OCIRepository, name: x, namespace: flux-system}}`, "helmreleases", "chartRef"},
		"release: a chartRef at home":           {owner, "wind", release, `spec: {chart: null, chartRef: {kind: OCIRepository, name: x, namespace: wind}}`, "", ""},
		"release: depends elsewhere":            {owner, "wind", release, `spec: {dependsOn: [{name: x, namespace: gas}]}`, "helmreleases", "dependsOn"},
		"release: a kubeconfig":                 {owner, "wind", release, `spec: {kubeConfig: {configMapRef: {name: x}}}`, "helmreleases", "kube-config"},
		"release: labels for its chart":         {owner, "wind", release, `spec: {chart: {metadata: {labels: {team: x}}}}`, "", ""},
		"release: our mark for its chart":       {owner, "wind", release, `spec: {chart: {metadata: {labels: {tenantry.dev/managed: "true"}}}}`, "helmreleases", "chart-metadata"},
		"release: a shard for its chart":        {owner, "wind", release, `spec: {chart: {metadata: {labels: {sharding.fluxcd.io/key: s1}}}}`, "helmreleases", "chart-metadata"},
		"release: a shard":                      {owner, "wind", release, `metadata: {labels: {sharding.fluxcd.io/key: s1}}`, "helmreleases", "shard"},
		"alert of its own namespace":            {owner, "wind", alert, ``, "", ""},
		"alert of another namespace":            {owner, "wind", alert, `spec: {eventSources: [{kind: Kustomization, name: "*", namespace: flux-system}]}`, "alerts", "eventSources"},
		"receiver of its own namespace":         {owner, "wind", receiver, ``, "", ""},
		"receiver of another namespace":         {owner, "wind", receiver, `spec: {resources: [{kind: GitRepository, name: x, namespace: gas}]}`, "receivers", "resources"},
		"a source":                              {owner, "wind", gitRepository, ``, "", ""},
		"a source on a shard":                   {owner, "wind", gitRepository, `metadata: {labels: {sharding.fluxcd.io/key: s1}}`, "sources", "shard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := manifest(t, tc.manifest, tc.namespace, tc.change)
			c := api.As(t, tc.as)
			for path, do := range map[string]func() error{
				"create": func() error { return c.Create(background(), o.DeepCopy(), client.DryRunAll) },
				"apply": func() error {
					return c.Apply(background(), client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.ForceOwnership, client.FieldOwner("test"), client.DryRunAll)
				},
			} {
				t.Run(path, func(t *testing.T) { expect(t, do(), tc.policy, tc.rule) })
			}
		})
	}
}

// manifest is a manifest in a namespace with something merged over it.
func manifest(t *testing.T, base, namespace, change string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(base, "NS", namespace)), &o.Object); err != nil {
		t.Fatal(err)
	}
	over := map[string]any{}
	if err := yaml.Unmarshal([]byte(change), &over); err != nil {
		t.Fatal(err)
	}
	mergeInto(o.Object, over)
	return o
}

func mergeInto(base, over map[string]any) {
	for k, v := range over {
		into, isMap := base[k].(map[string]any)
		from, fromMap := v.(map[string]any)
		switch {
		case v == nil:
			delete(base, k)
		case isMap && fromMap:
			mergeInto(into, from)
		default:
			base[k] = v
		}
	}
}
