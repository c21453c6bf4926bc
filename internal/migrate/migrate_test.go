// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantry/tenantry/internal/migrate"
)

// docs are documents as YAML, from one place.
func docs(t testing.TB, text string) []migrate.Document {
	t.Helper()
	all, err := parse("here", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWhatCantBeUnderstoodIsRefusedWithItsPlaceAndAMend(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ tool, in, want string }{
		"nothing of Flux's tenants": {
			"flux", `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`, "looked for Namespace, ServiceAccount and RoleBinding with the label toolkit.fluxcd.io/tenant",
		},
		"nothing of Capsule": {
			"capsule", `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`, "looked for Tenant of capsule.clastix.io",
		},
		"nothing of TMC": {
			"tmc", `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`, "looked for workspaces",
		},
		"a namespace of two tenants": {
			"flux", `
{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {toolkit.fluxcd.io/tenant: one}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: x, namespace: a, labels: {toolkit.fluxcd.io/tenant: two}}}`,
			"here:2: ServiceAccount a/x: namespace a is of tenant one too; a namespace has one tenant: correct the label of one",
		},
		"a Tenant twice": {
			"capsule", `
{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: oil}, spec: {owners: [{kind: User, name: a}]}}
---
{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: oil}, spec: {owners: [{kind: User, name: b}]}}`,
			"Tenant oil stands at here:1 too, and is different there; take one away",
		},
		"a Kustomization twice": {
			"flux", `
{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {toolkit.fluxcd.io/tenant: one}}}
---
{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: k, namespace: a}, spec: {path: x}}
---
{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: k, namespace: a}, spec: {path: y}}`,
			"Kustomization a/k stands at here:2 too, and is different there; take one away",
		},
		"a name of the system": {
			"capsule", `{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: kube-team}}`,
			`here:1: Tenant kube-team: a tenant can't be named "kube-team"`,
		},
		"a name that is too long": {
			"tmc", "fullName: {name: a, clusterName: c}\nspec: {workspaceName: " + strings.Repeat("w", 41) + "}", "1 to 40 lower-case letters",
		},
		"two names that become one": {
			"flux", `
{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {toolkit.fluxcd.io/tenant: sour_team}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: b, labels: {toolkit.fluxcd.io/tenant: sour-team}}}`,
			"would both be named sour-team; rename one before the import",
		},
		"tenants that differ between environments in what has no overlay": {
			"capsule", `
# environment: production
{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: oil}, spec: {cordoned: true}}
---
# environment: staging
{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: oil}}`,
			"import one environment at a time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := importers[tc.tool](docs(t, tc.in))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTheOrderOfDocumentsDoesNotMatter(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"flux/overlays", "flux/one-cluster", "capsule/maximal", "capsule/plain", "tmc/workspaces", "tmc/chart"} {
		tool, _, _ := strings.Cut(name, "/")
		forth := read(t, "testdata/"+name+".in.yaml")
		back := slices.Clone(forth)
		slices.Reverse(back)
		want, err := importers[tool](forth)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			got, err := importers[tool](back)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(render(t, want), render(t, got)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func TestNothingSecretIsTold(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"flux/overlays", "flux/one-cluster", "capsule/maximal", "tmc/chart"} {
		tool, _, _ := strings.Cut(name, "/")
		r, err := importers[tool](read(t, "testdata/"+name+".in.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"hunter2", "do-not-tell-anybody", "very-secret"} {
			if strings.Contains(render(t, r), secret) {
				t.Errorf("%s tells %s", name, secret)
			}
		}
	}
}

func TestTheDocumentsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	in := read(t, "testdata/capsule/maximal.in.yaml")
	if _, err := migrate.Capsule(in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(read(t, "testdata/capsule/maximal.in.yaml"), in); diff != "" {
		t.Error(diff)
	}
}

func TestNobodyGetsMoreThanTheyHad(t *testing.T) {
	t.Parallel()
	const capsule = `{apiVersion: capsule.clastix.io/v1beta2, kind: Tenant, metadata: {name: oil}, spec: %SPEC%}`
	for name, tc := range map[string]struct{ spec, want string }{
		"an expression for registries allows none":  {`{containerRegistries: {allowedRegex: ".*"}}`, "registry.invalid/"},
		"a registry that can't be said allows none": {`{containerRegistries: {allowed: ["UPPER"]}}`, "registry.invalid/"},
		"admin without owning makes no namespaces":  {`{additionalRoleBindings: [{clusterRoleName: admin, subjects: [{kind: User, name: a}]}]}`, "role: edit"},
		"an owner whose roles are refused is none":  {`{owners: [{kind: User, name: a, clusterRoles: ["system:node"]}]}`, "it is no owner"},
		"a rule by expression allows no registry":   {`{rules: [{enforce: {action: allow, workloads: {registries: [{exp: ".*"}]}}}]}`, "registry.invalid/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := migrate.Capsule(docs(t, strings.ReplaceAll(capsule, "%SPEC%", tc.spec)))
			if err != nil {
				t.Fatal(err)
			}
			if got := render(t, r); !strings.Contains(got, tc.want) {
				t.Errorf("%s is not in\n%s", tc.want, got)
			}
		})
	}
}
