// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/admit"
	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/compile"
	known "github.com/tenantry/tenantry/internal/schema"
)

// others are kinds of CRDs that the policies know, as their projects serve them.
var others = attack.Kinds{
	{Group: "gateway.networking.k8s.io", Kind: "Gateway"}:             {{Name: "gateways", Version: "v1", Namespaced: true}},
	{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}:           {{Name: "httproutes", Version: "v1", Namespaced: true}},
	{Group: "external-secrets.io", Kind: "ExternalSecret"}:            {{Name: "externalsecrets", Version: "v1", Namespaced: true}},
	{Group: "external-secrets.io", Kind: "PushSecret"}:                {{Name: "pushsecrets", Version: "v1alpha1", Namespaced: true}},
	{Group: "external-secrets.io", Kind: "SecretStore"}:               {{Name: "secretstores", Version: "v1", Namespaced: true}},
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}:        {{Name: "volumesnapshots", Version: "v1", Namespaced: true}},
	{Group: "image.toolkit.fluxcd.io", Kind: "ImageRepository"}:       {{Name: "imagerepositories", Version: "v1", Namespaced: true}},
	{Group: "notification.toolkit.fluxcd.io", Kind: "Receiver"}:       {{Name: "receivers", Version: "v1", Namespaced: true}},
	{Group: "source.extensions.fluxcd.io", Kind: "ArtifactGenerator"}: {{Name: "artifactgenerators", Version: "v1beta1", Namespaced: true}},
}

// kinds are those that a cluster serves.
func kinds(t *testing.T) attack.Kinds {
	t.Helper()
	set, err := known.For(known.Newest)
	if err != nil {
		t.Fatal(err)
	}
	all := attack.Kinds{}
	for gk, r := range others {
		all[gk] = r
	}
	for _, k := range set.Kinds() {
		all[k.GroupKind()] = append([]attack.Resource{{Name: k.Resource, Version: k.Version, Namespaced: k.Namespaced}}, all[k.GroupKind()]...)
	}
	return all
}

func tenant(t *testing.T, file string) *v1alpha1.Tenant {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tn := &v1alpha1.Tenant{}
	if err := yaml.UnmarshalStrict(content, tn); err != nil {
		t.Fatal(err)
	}
	return tn
}

// TestItAgreesWithTheSuite holds what is refused here to what the isolation suite says
// that real clusters refuse, by the same wall, and lets every harmless twin pass.
func TestItAgreesWithTheSuite(t *testing.T) {
	t.Parallel()
	tn := tenant(t, "../../examples/tenant/everything.yaml")
	tn.Spec.Exceptions = nil
	neighbour := &v1alpha1.Tenant{}
	neighbour.Name = "gas"
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	namespaces := map[string]*corev1.Namespace{}
	var objects []map[string]any
	there := map[string]map[string]any{}
	for _, o := range []*v1alpha1.Tenant{tn, neighbour} {
		for _, c := range append(compile.Tenant(o, compile.Facts{Now: now}).Objects(), compile.Provisioners(compile.Shard(o.Name), []*v1alpha1.Tenant{o})) {
			if c == nil {
				continue
			}
			objects = append(objects, c.Object)
			there[c.GetKind()+" "+c.GetNamespace()+"/"+c.GetName()] = c.Object
			if c.GetKind() == "Namespace" {
				ns := &corev1.Namespace{}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(c.Object, ns); err != nil {
					t.Fatal(err)
				}
				namespaces[ns.Name] = ns
			}
		}
	}
	for _, ns := range []string{"default", "flux-system"} {
		namespaces[ns] = &corev1.Namespace{}
		namespaces[ns].Name = ns
		there["Namespace /"+ns] = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}
	}
	there["Namespace /kube-system"] = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system"}}
	rights, err := admit.NewRights(objects...)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := admit.Installed()
	if err != nil {
		t.Fatal(err)
	}
	suite, err := attack.Load()
	if err != nil {
		t.Fatal(err)
	}
	scene := attack.NewScene(attack.SceneFacts{Tenant: tn, Namespaces: namespaces, Others: []*v1alpha1.Tenant{neighbour}})
	served := kinds(t)
	commits, err := suite.Commits(scene, served)
	if err != nil {
		t.Fatal(err)
	}
	account := attack.Subject{}
	account.User, account.Groups = admit.Account(tn.Name, tn.Name)
	refused, harmless := 0, 0
	for _, c := range commits {
		walls := wallsOf(t, policies, rights, served, namespaces, there, account, c.Manifest)
		switch {
		case c.Wall == attack.WallQuota || c.Wall == attack.WallEscalation: // not told here
		case !slices.Contains(walls, c.Wall):
			t.Errorf("%s is refused by %v, want %s\n%s", c.ID, walls, c.Wall, c.Manifest)
		default:
			refused++
		}
		if c.Twin == nil {
			continue
		}
		if walls := wallsOf(t, policies, rights, served, namespaces, there, account, c.Twin); len(walls) > 0 {
			t.Errorf("the twin of %s is refused by %v\n%s", c.ID, walls, c.Twin)
		}
		harmless++
	}
	if refused < 150 || harmless < 100 {
		t.Errorf("only %d attacks and %d twins", refused, harmless)
	}
	t.Logf("%d attacks, %d twins", refused, harmless)
}

func wallsOf(t *testing.T, policies *admit.Policies, rights *admit.Rights, served attack.Kinds, namespaces map[string]*corev1.Namespace, there map[string]map[string]any, as attack.Subject, manifest []byte) []string {
	t.Helper()
	content, err := yaml.YAMLToJSON(manifest)
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: object}
	gvk := o.GroupVersionKind()
	i := slices.IndexFunc(served[gvk.GroupKind()], func(r attack.Resource) bool { return r.Version == gvk.Version })
	if i < 0 {
		t.Fatalf("%s is not served", gvk)
	}
	r := served[gvk.GroupKind()][i]
	q := admit.Request{User: as.User, Groups: as.Groups, Object: object, Kind: gvk, Resource: r.Name, Namespaced: r.Namespaced}
	if r.Namespaced {
		ns := namespaces[o.GetNamespace()]
		if ns == nil {
			ns = &corev1.Namespace{}
			ns.Name = o.GetNamespace()
		}
		if q.Namespace, err = runtime.DefaultUnstructuredConverter.ToUnstructured(ns); err != nil {
			t.Fatal(err)
		}
	}
	if old := there[gvk.Kind+" "+o.GetNamespace()+"/"+o.GetName()]; old != nil {
		q.Old, q.Object = old, build.Merged(old, object)
	} else if gvk.Kind == "Namespace" {
		q.Object = admit.Stamped(q, rights)
	}
	if ok, _ := rights.MayApply(q); !ok {
		return []string{attack.WallRBAC}
	}
	var walls []string
	for _, d := range policies.Deny(t.Context(), q, rights) {
		walls = append(walls, d.Rule)
	}
	if why := admit.PodSecurity(q); why != "" && strings.TrimSpace(why) != "" {
		walls = append(walls, attack.WallPodSecurity)
	}
	return walls
}
