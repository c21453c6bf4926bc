// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"

	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/schema"
)

func TestWhatTheAPITakesPasses(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../compile/testdata/*.tenant.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../../examples/tenant/everything.yaml") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tn := &v1alpha1.Tenant{}
		if err := yaml.UnmarshalStrict(content, tn); err != nil {
			t.Fatal(err)
		}
		if err := schema.Tenant(tn); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestWhatTheAPIRefusesIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tenant string
		says   string
	}{
		"a name that is too long":     {"metadata: {name: " + strings.Repeat("a", 41) + "}", "a tenant's name is also its home namespace"},
		"a name of the system":        {"metadata: {name: kube-oil}", "this name is the system's"},
		"the home declared":           {"metadata: {name: oil}\nspec: {namespaces: {declared: [oil]}}", "take it out of spec.namespaces.declared"},
		"a namespace of the system":   {"metadata: {name: oil}\nspec: {namespaces: {declared: [kube-system]}}", "spec.namespaces.declared: default, kube-*"},
		"an unknown role":             {"metadata: {name: oil}\nspec: {owners: [{kind: User, name: x, role: god}]}", `spec.owners[0].role: Unsupported value: "god"`},
		"an account without its home": {"metadata: {name: oil}\nspec: {owners: [{kind: ServiceAccount, name: x}]}", "namespace is required for a ServiceAccount"},
		"an owner twice":              {"metadata: {name: oil}\nspec: {owners: [{kind: User, name: x}, {kind: User, name: x}]}", "spec.owners[1]: Duplicate value"},
		"credentials in a URL":        {"metadata: {name: oil}\nspec: {syncs: [{name: a, source: {git: {url: 'https://u:p@x.example.com/y'}}}]}", "credentials don't belong in a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tn := &v1alpha1.Tenant{}
			if err := yaml.UnmarshalStrict([]byte(tc.tenant), tn); err != nil {
				t.Fatal(err)
			}
			if err := schema.Tenant(tn); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

func TestObjectsOfKubernetesAndFlux(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		object string
		want   []string // sort path: what
	}{
		"a Deployment as it should be":      {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, creationTimestamp: null}, spec: {selector: {}, template: {spec: {containers: [{name: a, image: a, resources: {limits: {cpu: 0.5, memory: 1Gi}}, ports: [{containerPort: 80}]}]}}}, status: {}}", nil},
		"a field of another name":           {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {}, template: {spec: {containers: [{name: a, imge: a}]}}}}", []string{"unknown-field [spec template spec containers 0 imge]: spec.template.spec.containers[0].imge is no field of Deployment (did you mean image?)"}},
		"a quantity that is none":           {"{apiVersion: v1, kind: ResourceQuota, metadata: {name: a}, spec: {hard: {memory: 5GB}}}", []string{"invalid [spec hard memory]: spec.hard.memory: 5GB is no quantity"}},
		"a text for a number":               {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: two, selector: {}, template: {}}}", []string{"invalid [spec replicas]: spec.replicas is of type string, and has to be of type integer"}},
		"what is required":                  {"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{name: x}]}}", []string{"missing [spec ports 0]: spec.ports[0].port is required"}},
		"a value that is none of the known": {"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ClusterIp, ports: []}}", []string{"invalid [spec type]: spec.type: Unsupported value: \"ClusterIp\": supported values: \"ClusterIP\""}},
		"a name that is none":               {"{apiVersion: v1, kind: Service, metadata: {name: a_b}, spec: {}}", []string{"metadata [metadata name]: metadata.name: a "}},
		"no name":                           {"{apiVersion: v1, kind: ConfigMap, metadata: {}}", []string{"metadata [metadata]: metadata.name is required"}},
		"a label that is a number":          {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: 1}}}", []string{`metadata [metadata labels a]: metadata.labels[a] is 1, and no text`}},
		"a field of metadata":               {"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, lables: {}}}", []string{"unknown-field [metadata lables]: metadata.lables is no field of metadata"}},
		"a sync without a path":             {"{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: a}, spec: {interval: 1m, prune: true, sourceRef: {kind: GitRepo, name: a}}}", []string{"invalid [spec sourceRef kind]: spec.sourceRef.kind: Unsupported value: \"GitRepo\""}},
		"a kind that nobody knows":          {"{apiVersion: a/v1, kind: B, x: y}", nil},
		"a CRD that holds itself":           {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: a, scope: Cluster, names: {plural: a, kind: A}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}]}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, minor := range schema.Minors() {
				s, err := schema.For(minor)
				if err != nil {
					t.Fatal(err)
				}
				content, err := yaml.YAMLToJSON([]byte(tc.object))
				if err != nil {
					t.Fatal(err)
				}
				object := map[string]any{}
				if err := json.Unmarshal(content, &object); err != nil {
					t.Fatal(err)
				}
				got, err := s.Check(object)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range got {
					line := fmt.Sprintf("%s %v: %s", p.Sort, p.Path, p.What)
					if p.Mend != "" {
						line += " (" + p.Mend + ")"
					}
					if i >= len(tc.want) || !strings.HasPrefix(line, tc.want[i]) {
						t.Errorf("%s: %s", minor, line)
					}
				}
				if len(got) != len(tc.want) {
					t.Errorf("%s: %d problems, want %d", minor, len(got), len(tc.want))
				}
			}
		})
	}
}

func BenchmarkTenant(b *testing.B) {
	tn := &v1alpha1.Tenant{}
	tn.Name = "oil"
	for b.Loop() {
		if err := schema.Tenant(tn); err != nil {
			b.Fatal(err)
		}
	}
}
