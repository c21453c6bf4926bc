// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	stdjson "encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/testkit"
)

// table is a file of testdata/walls: requests on a family of kinds, each refused by
// the rule that it names or, as its harmless twin, let through.
type table struct {
	// Some is what the Tenant "some" says; the Tenant "none" says nothing.
	Some v1alpha1.TenantSpec `json:"some"`
	// Cluster are manifests that the cases need to be there.
	Cluster []string `json:"cluster"`
	// Objects are harmless for both, by the name that cases refer to them by. NS and
	// TENANT in them stand for the namespace and the tenant.
	Objects map[string]string `json:"objects"`
	Cases   []wallCase        `json:"cases"`
}

type wallCase struct {
	Is string `json:"is"`
	// Of names the object, With is merged over it.
	Of   string         `json:"of"`
	With map[string]any `json:"with"`
	// Refused names the rule; empty lets through.
	Refused string `json:"refused"`
	// Tenant is none (the default) or some.
	Tenant string `json:"tenant"`
	// In is web (the default) or home.
	In string `json:"in"`
	// As is who asks, by default the tenant's owner, who has every right in the
	// tenant's namespaces that RBAC can give.
	As string `json:"as"`
	// Only leaves out every path but create or update: what an API refuses to change
	// needs no wall.
	Only string `json:"only"`
	// Named leaves out generated names.
	Named bool `json:"named"`
}

// TestWalls holds every rule about what tenants put into their namespaces, on every
// path, on an API server that learnt of the kinds after it learnt of the walls.
func TestWalls(t *testing.T) {
	api := testkit.Get(t)
	learn(t, api)
	for name, tb := range tables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runTable(t, api, name, tb)
		})
	}
}

// tables are those of testdata/walls, by their names.
func tables(t *testing.T) map[string]table {
	t.Helper()
	files, err := filepath.Glob("testdata/walls/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	all := map[string]table{}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var tb table
		if err := yaml.UnmarshalStrict(content, &tb); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".yaml")] = tb
	}
	return all
}

func runTable(t *testing.T, api *testkit.API, name string, tb table) {
	prepare(t, api, name, tb)
	for _, tc := range tb.Cases {
		t.Run(tc.Is, func(t *testing.T) {
			t.Parallel()
			tc.run(t, tc.paths(t, api, name, tb))
		})
	}
}

// prepared are the tables whose tenants are there.
var prepared sync.Map

// prepare makes a table's tenants, and identities with every right in their namespaces
// that RBAC can give.
func prepare(t *testing.T, api *testkit.API, name string, tb table) {
	t.Helper()
	if _, done := prepared.LoadOrStore(name, true); done {
		return
	}
	none, some := tenant(name+"0"), tenant(name+"1")
	owners, namespaces := some.Spec.Owners, some.Spec.Namespaces
	some.Spec = *tb.Some.DeepCopy()
	some.Spec.Owners, some.Spec.Namespaces = owners, namespaces
	build(t, api, none, some)
	for _, m := range tb.Cluster {
		if err := api.Client.Create(t.Context(), manifest(t, m, "")); err != nil {
			t.Fatal(err)
		}
	}
	for _, tn := range []string{none.Name, some.Name} {
		for _, ns := range []string{tn, tn + "-web"} {
			bind(t, api, ns, "root", "cluster-admin", subjectUser(tn+"-owner"),
				rbac(tn+"-web", "worker"), rbac("monitoring", "agent"),
				rbac("kube-system", "replicaset-controller"), rbac("kube-system", "daemon-set-controller"),
				rbac("kube-system", "statefulset-controller"), rbac("kube-system", "persistent-volume-binder"))
		}
		// May write everything in the home namespace and owns nothing.
		grantIn(t, api, tn, tn+"-writer", "tenantry:admin")
		// An admin of one namespace, by the tenant's own choice.
		grantIn(t, api, tn+"-web", tn+"-admin", "tenantry:admin")
	}
}

// fill puts the tenant's name where a case leaves it open.
func fill(with map[string]any, tenant string) map[string]any {
	if with == nil {
		return map[string]any{}
	}
	bytes, err := stdjson.Marshal(with)
	if err != nil {
		panic(err)
	}
	filled := map[string]any{}
	if err := stdjson.Unmarshal([]byte(strings.ReplaceAll(string(bytes), "TENANT", tenant)), &filled); err != nil {
		panic(err)
	}
	return filled
}

// paths are the ways to make the request, by name.
func (tc wallCase) paths(t *testing.T, api *testkit.API, name string, tb table) map[string]func() error {
	t.Helper()
	manifestOf, ok := tb.Objects[tc.Of]
	if !ok {
		t.Fatalf("there is no object %q", tc.Of)
	}
	tenant := name + "0"
	if tc.Tenant == "some" {
		tenant = name + "1"
	}
	namespace := tenant + "-web"
	if tc.In == "home" {
		namespace = tenant
	}
	base := manifest(t, strings.ReplaceAll(manifestOf, "TENANT", tenant), namespace)
	change := fill(tc.With, tenant)
	as := map[string]string{
		"": tenant + "-owner", "writer": tenant + "-writer", "admin": tenant + "-admin",
		"account": "system:serviceaccount:" + tenant + ":" + tenant,
		"worker":  "system:serviceaccount:" + tenant + "-web:worker",
		"local":   "system:serviceaccount:" + tenant + "-web:" + tenant,
	}[tc.As]
	var groups []string
	if as == "" {
		as = tc.As
		groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + strings.Split(as, ":")[2]}
	}
	c := api.As(t, as, groups...)
	changed := base.DeepCopy()
	mergeInto(changed.Object, change)

	// What is there to be changed, made by an admin with the tenant's field manager.
	live := base.DeepCopy()
	if tc.Only != "create" {
		live.SetName("live-" + strings.ToLower(strings.Map(word, tc.Is)))
		if err := api.Client.Apply(background(), client.ApplyConfigurationFromUnstructured(live), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Fatalf("make the harmless object: %v", err)
		}
	}
	// Through a name of its own, changed may carry the name that a case gives it.
	target := changed.DeepCopy()
	target.SetName(live.GetName())

	paths := map[string]func() error{}
	if tc.Only != "update" {
		paths["create"] = func() error { return c.Create(background(), changed.DeepCopy(), client.DryRunAll) }
		paths["apply"] = func() error { return applyDry(c, changed) }
		if changed.GetName() == base.GetName() && !tc.Named {
			paths["generate a name"] = func() error {
				o := changed.DeepCopy()
				o.SetName("")
				o.SetGenerateName(base.GetName() + "-")
				return c.Create(background(), o, client.DryRunAll)
			}
		}
	}
	if tc.Only != "create" {
		// Controllers write to what is live too.
		paths["update"] = func() error {
			return retry.RetryOnConflict(retry.DefaultRetry, func() error {
				o := live.DeepCopy()
				if err := api.Client.Get(background(), client.ObjectKeyFromObject(o), o); err != nil {
					return err
				}
				for _, part := range contents(change) {
					o.Object[part] = target.Object[part]
				}
				setMetadata(o, target)
				return c.Update(background(), o, client.DryRunAll)
			})
		}
		paths["merge patch"] = func() error {
			return patchDry(c, live, client.RawPatch(merge, marshal(t, change)))
		}
		paths["JSON patch"] = func() error {
			ops := []map[string]any{}
			for _, part := range contents(change) {
				ops = append(ops, map[string]any{"op": "add", "path": "/" + part, "value": target.Object[part]})
			}
			for _, part := range []string{"labels", "annotations"} {
				if v, ok, _ := unstructured.NestedMap(target.Object, "metadata", part); ok {
					ops = append(ops, map[string]any{"op": "add", "path": "/metadata/" + part, "value": v})
				}
			}
			return patchDry(c, live, client.RawPatch(json, marshal(t, ops)))
		}
		paths["apply patch"] = func() error { return applyDry(c, target) }
	}
	return paths
}

// run makes the request on every path that there is to it.
func (tc wallCase) run(t *testing.T, paths map[string]func() error) {
	policy, rule, _ := strings.Cut(tc.Refused, "/")
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		t.Run(path, func(t *testing.T) {
			err := paths[path]()
			if apierrors.IsInvalid(err) {
				t.Fatalf("the API itself refuses this, so it shows nothing of a wall: %v", err)
			}
			expect(t, err, policy, rule)
		})
	}
}

// contents are the parts of an object that a change touches, metadata apart.
func contents(change map[string]any) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(change)), func(k string) bool { return k == "metadata" })
}

func setMetadata(o, from *unstructured.Unstructured) {
	if l := from.GetLabels(); l != nil {
		o.SetLabels(l)
	}
	if a := from.GetAnnotations(); a != nil {
		o.SetAnnotations(a)
	}
}

func word(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

func applyDry(c client.Client, o *unstructured.Unstructured) error {
	return c.Apply(background(), client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.ForceOwnership, client.FieldOwner("test"), client.DryRunAll)
}

func patchDry(c client.Client, o *unstructured.Unstructured, p client.Patch) error {
	opts := patchOptions(p.Type())
	return c.Patch(background(), o.DeepCopy(), p, &opts)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	bytes, err := stdjson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// manifest is a manifest in a namespace.
func manifest(t *testing.T, base, namespace string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(base, "NS", namespace)), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetNamespace(namespace)
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

func subjectUser(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func bind(t *testing.T, api *testkit.API, namespace, name, role string, subjects ...rbacv1.Subject) {
	t.Helper()
	err := api.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	})
	if err != nil {
		t.Fatal(err)
	}
}
