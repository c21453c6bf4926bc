// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, testkit.Options{}) }

// TestExamples keeps the examples in step with the API.
func TestExamples(t *testing.T) {
	api := testkit.Get(t)
	files, err := filepath.Glob("../../examples/tenant/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &o.Object); err != nil {
			t.Fatal(err)
		}
		if err := api.Client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// TestAdmission has the API server accept or refuse Tenants by the rules in their
// schema. A refusal must say what is wrong; what it must say is in the table.
func TestAdmission(t *testing.T) {
	api := testkit.Get(t)
	const git = `source: {git: {url: "https://git.example.com/oil/apps"}}`
	for name, tc := range map[string]struct {
		name, spec string
		refusal    string // "" is accepted
	}{
		"nothing said":                          {"oil", `{}`, ""},
		"a name with dashes":                    {"dev-team", `{}`, ""},
		"a name of forty characters":            {strings.Repeat("a", 40), `{}`, ""},
		"a name of forty-one":                   {strings.Repeat("a", 41), `{}`, "1 to 40 lower-case letters"},
		"a name with a dot":                     {"oil.gas", `{}`, "1 to 40 lower-case letters"},
		"a name that begins with a digit":       {"9oil", `{}`, "1 to 40 lower-case letters"},
		"default":                               {"default", `{}`, "the system's"},
		"kube-system":                           {"kube-system", `{}`, "the system's"},
		"kube, whose prefix is the system's":    {"kube", `{}`, "the system's"},
		"flux-system":                           {"flux-system", `{}`, "the system's"},
		"tenantry":                              {"tenantry", `{}`, "the system's"},
		"a user":                                {"oil", `{owners: [{kind: User, name: olivia}]}`, ""},
		"a group and an account":                {"oil", `{owners: [{kind: Group, name: team}, {kind: ServiceAccount, name: ci, namespace: build}]}`, ""},
		"one name as user and group":            {"oil", `{owners: [{kind: User, name: x}, {kind: Group, name: x}]}`, ""},
		"an account without namespace":          {"oil", `{owners: [{kind: ServiceAccount, name: ci}]}`, "namespace is required for a ServiceAccount"},
		"a user with namespace":                 {"oil", `{owners: [{kind: User, name: x, namespace: z}]}`, "refused for a User"},
		"an unknown kind of owner":              {"oil", `{owners: [{kind: Robot, name: x}]}`, "Unsupported value"},
		"an unknown role":                       {"oil", `{owners: [{kind: User, name: x, role: boss}]}`, "Unsupported value"},
		"the same owner twice":                  {"oil", `{owners: [{kind: User, name: x}, {kind: User, name: x, role: view}]}`, "Duplicate value"},
		"a system group":                        {"oil", `{owners: [{kind: Group, name: "system:authenticated"}]}`, "belong to the cluster"},
		"a ClusterRole of the platform":         {"oil", `{owners: [{kind: User, name: x, clusterRoles: [deployer]}]}`, ""},
		"cluster-admin":                         {"oil", `{owners: [{kind: User, name: x, clusterRoles: [cluster-admin]}]}`, "not given to tenants"},
		"the aggregated admin":                  {"oil", `{owners: [{kind: User, name: x, clusterRoles: [admin]}]}`, "not given to tenants"},
		"one of our own roles":                  {"oil", `{owners: [{kind: User, name: x, clusterRoles: ["tenantry:platform-admin"]}]}`, "not given to tenants"},
		"declared namespaces":                   {"oil", `{namespaces: {declared: [apps, oil-web]}}`, ""},
		"a namespace declared twice":            {"oil", `{namespaces: {declared: [apps, apps]}}`, "Duplicate value"},
		"kube-system declared":                  {"oil", `{namespaces: {declared: [kube-system]}}`, "are the system's"},
		"flux-system declared":                  {"oil", `{namespaces: {declared: [flux-system]}}`, "are the system's"},
		"the home namespace declared":           {"oil", `{namespaces: {declared: [oil]}}`, "exists by itself"},
		"a namespace that is no name":           {"oil", `{namespaces: {declared: [Apps_1]}}`, "should match"},
		"self-service":                          {"oil", `{namespaces: {selfService: {limit: 3, labels: {a: b}}}}`, ""},
		"self-service without limit":            {"oil", `{namespaces: {selfService: {}}}`, "limit: Required value"},
		"a limit of none":                       {"oil", `{namespaces: {selfService: {limit: 0}}}`, "greater than or equal to 1"},
		"stamping a label of ours":              {"oil", `{namespaces: {selfService: {limit: 3, labels: {tenantry.dev/tenant: gas}}}}`, "set by other fields"},
		"stamping a Pod Security level":         {"oil", `{namespaces: {selfService: {limit: 3, labels: {pod-security.kubernetes.io/enforce: privileged}}}}`, "set by other fields"},
		"stamping an annotation of ours":        {"oil", `{namespaces: {selfService: {limit: 3, annotations: {tenantry.dev/x: z}}}}`, "are Tenantry's"},
		"an unknown Pod Security level":         {"oil", `{namespaces: {podSecurity: lax}}`, "Unsupported value"},
		"a sync":                                {"oil", `{syncs: [{name: apps, ` + git + `}]}`, ""},
		"two syncs that depend":                 {"oil", `{syncs: [{name: a, ` + git + `}, {name: b, dependsOn: [a], ` + git + `}]}`, ""},
		"two syncs of one name":                 {"oil", `{syncs: [{name: a, ` + git + `}, {name: a, ` + git + `}]}`, "Duplicate value"},
		"a sync that depends on no other":       {"oil", `{syncs: [{name: a, dependsOn: [b], ` + git + `}]}`, "names other syncs"},
		"a sync that depends on itself":         {"oil", `{syncs: [{name: a, dependsOn: [a], ` + git + `}]}`, "names other syncs"},
		"a sync without source":                 {"oil", `{syncs: [{name: a}]}`, "source: Required value"},
		"a sync with an empty source":           {"oil", `{syncs: [{name: a, source: {}}]}`, "exactly one of git, oci and bucket"},
		"a sync with two sources":               {"oil", `{syncs: [{name: a, source: {git: {url: "https://x/y"}, oci: {url: "oci://x/y"}}}]}`, "exactly one of git, oci and bucket"},
		"an SSH URL":                            {"oil", `{syncs: [{name: a, source: {git: {url: "ssh://git@x/y"}}}]}`, ""},
		"a URL of another scheme":               {"oil", `{syncs: [{name: a, source: {git: {url: "file:///etc"}}}]}`, "begins with https://"},
		"a URL with a password":                 {"oil", `{syncs: [{name: a, source: {git: {url: "https://me:secret@x/y"}}}]}`, "don't belong in a URL"},
		"a URL with a space":                    {"oil", `{syncs: [{name: a, source: {git: {url: "https://x/y z"}}}]}`, "begins with https://"},
		"two refs":                              {"oil", `{syncs: [{name: a, source: {git: {url: "https://x/y", ref: {branch: a, tag: b}}}}]}`, "exactly one of branch"},
		"an OCI URL":                            {"oil", `{syncs: [{name: a, source: {oci: {url: "oci://x/y", ref: {semver: "1.x"}}}}]}`, ""},
		"an OCI URL of another scheme":          {"oil", `{syncs: [{name: a, source: {oci: {url: "https://x/y"}}}]}`, "begins with oci://"},
		"a bucket":                              {"oil", `{syncs: [{name: a, source: {bucket: {endpoint: "s3.example.com", name: b, provider: aws}}}]}`, ""},
		"a bucket whose endpoint is a URL":      {"oil", `{syncs: [{name: a, source: {bucket: {endpoint: "https://s3.example.com", name: b}}}]}`, "host or host:port"},
		"a path that climbs":                    {"oil", `{syncs: [{name: a, path: ../x, ` + git + `}]}`, "stays within the source"},
		"an interval":                           {"oil", `{syncs: [{name: a, interval: 1m30s, ` + git + `}]}`, ""},
		"an interval that is no duration":       {"oil", `{syncs: [{name: a, interval: often, ` + git + `}]}`, "should match"},
		"variables":                             {"oil", `{syncs: [{name: a, substitute: {x: z}, substituteFrom: [{kind: Secret, name: z}], ` + git + `}]}`, ""},
		"variables from another kind":           {"oil", `{syncs: [{name: a, substituteFrom: [{kind: Pod, name: z}], ` + git + `}]}`, "Unsupported value"},
		"quota and limits":                      {"oil", `{quota: {pods: "5", requests.cpu: "1"}, limits: [{type: Container, default: {cpu: 100m}}]}`, ""},
		"an open network":                       {"oil", `{network: {mode: open}}`, ""},
		"an unknown network mode":               {"oil", `{network: {mode: closed}}`, "Unsupported value"},
		"a further network policy":              {"oil", `{network: {policies: [{name: a, spec: {podSelector: {}}}]}}`, ""},
		"a network policy in our policy's name": {"oil", `{network: {policies: [{name: tenantry-isolate, spec: {podSelector: {}}}]}}`, "tenantry-isolate is the name"},
		"retain":                                {"oil", `{deletionPolicy: Retain}`, ""},
		"an unknown deletion policy":            {"oil", `{deletionPolicy: Keep}`, "Unsupported value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "tenantry.dev/v1alpha1", "kind": "Tenant"}}
			o.SetName(tc.name)
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.spec), &spec); err != nil {
				t.Fatal(err)
			}
			o.Object["spec"] = spec
			err := api.Client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict"))
			switch {
			case tc.refusal == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.refusal != "" && err == nil:
				t.Error("accepted")
			case tc.refusal != "" && !strings.Contains(err.Error(), tc.refusal):
				t.Errorf("refused with %q, want it to say %q", err, tc.refusal)
			}
		})
	}
}
