// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/audit"
	"github.com/tenantry/tenantry/internal/install"
	"github.com/tenantry/tenantry/internal/testkit"
)

// operations that each tenant sends.
const operations = 8000

// TestRandomOperations has two tenants, one after the other, do whatever comes to mind,
// for real: any verb on any kind the API server has, in any namespace, with names,
// labels and contents that matter. Nothing of the other tenant, of the platform or kept
// by it may change, and afterwards nobody may have more rights than before.
func TestRandomOperations(t *testing.T) {
	api := testkit.Get(t)
	tenants(t, api)
	w := newWorld(t, api)
	for _, tenant := range []string{wild, wilder} {
		seed := uint64(time.Now().UnixNano())
		t.Logf("tenant %s, seed %d", tenant, seed)
		before := w.picture(t, tenant)
		counts := w.storm(t, tenant, seed)
		after := w.picture(t, tenant)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("tenant %s changed what is not its own (-before +after):\n%s", tenant, diff)
		}
		t.Logf("tenant %s: %v", tenant, counts)
		if counts["2xx"] < operations/50 || counts["403"] < operations/10 {
			t.Errorf("tenant %s: the operations show little: %v", tenant, counts)
		}
	}
	for _, r := range playIn(t, api, scenes(t, api, wild, wilder, rich)) {
		if r.Outcome == attack.Through {
			t.Errorf("afterwards %s gets through on %s", r.ID, r.Tenant)
		}
	}
	expectSound(t, api)
}

// expectSound reads the cluster for anything that opens a wall. The identities that
// tests made for themselves are known to.
func expectSound(t *testing.T, api *testkit.API) {
	t.Helper()
	installer, err := install.New(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	set, err := installer.Set()
	if err != nil {
		t.Fatal(err)
	}
	facts, err := audit.Gather(t.Context(), api.Client, set.All())
	if err != nil {
		t.Fatal(err)
	}
	findings, skipped := audit.Read(facts)
	for _, f := range findings {
		if f.Severity == audit.Error && f.Object != "ClusterRoleBinding volumes" {
			t.Errorf("afterwards: %+v", f)
		}
	}
	delete(skipped, "flux-lockdown") // no Flux runs here
	delete(skipped, "flux-version")
	if len(skipped) > 0 {
		t.Errorf("checks that were not made: %v", skipped)
	}
}

// world is what an API server has.
type world struct {
	client *http.Client
	host   string
	kinds  []kind
}

type kind struct {
	group, version, name string
	namespaced           bool
	subresources         []string
	listable             bool
}

func newWorld(t *testing.T, api *testkit.API) *world {
	t.Helper()
	c, err := rest.HTTPClientFor(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{client: c, host: api.Config.Host}
	w.kinds = served(t, api)
	if len(w.kinds) < 80 {
		t.Fatalf("%d kinds: the API server has more", len(w.kinds))
	}
	return w
}

// base is the URL of a kind, in a namespace.
func (k kind) base(namespace string) string {
	at := "/api/" + k.version
	if k.group != "" {
		at = "/apis/" + k.group + "/" + k.version
	}
	if k.namespaced {
		at += "/namespaces/" + namespace
	}
	return at + "/" + k.name
}

// silent kinds change all the time and say nothing of tenancy.
var silent = []string{"events", "leases", "componentstatuses", "endpoints", "endpointslices", "ipaddresses"}

// picture is everything that a tenant must not change: all that is in no namespace of
// its, and what is kept for it.
func (w *world) picture(t *testing.T, tenant string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, k := range w.kinds {
		if !k.listable || slices.Contains(silent, k.name) {
			continue
		}
		at := strings.Replace(k.base("NS"), "/namespaces/NS", "", 1)
		var body []byte
		testkit.Eventually(t, 20*time.Second, at+" is listed", func() error {
			var code int // kinds that are new answer 429 for a moment
			if code, body = w.send(t, http.MethodGet, at, "", nil, ""); code != http.StatusOK {
				return fmt.Errorf("%d %s", code, body)
			}
			return nil
		})
		var list struct{ Items []map[string]any }
		if err := json.Unmarshal(body, &list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			name, content, ok := essence(o, tenant)
			if ok {
				all[k.name+"."+k.group+" "+name] = content
			}
		}
	}
	return all
}

// essence is what of an object counts, unless it is a tenant's own.
func essence(o map[string]any, tenant string) (name, content string, counts bool) {
	meta := o["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	name = fmt.Sprint(namespace, "/", meta["name"])
	own := namespace == tenant || strings.HasPrefix(namespace, tenant+"-") ||
		namespace == "" && strings.HasPrefix(fmt.Sprint(meta["name"])+"-", tenant+"-") && labels["tenantry.dev/tenant"] == tenant
	if mark, _ := labels["tenantry.dev/managed"].(string); own && mark == "" {
		return "", "", false
	}
	if own && namespace == "" {
		// A namespace of its own is its to label; only marks and what holds it count.
		for k := range labels {
			if !strings.Contains(k, "tenantry.dev/") && !strings.Contains(k, "pod-security") {
				delete(labels, k)
			}
		}
		annotations, _ := meta["annotations"].(map[string]any)
		for k := range annotations {
			if !strings.Contains(k, "tenantry.dev/") {
				delete(annotations, k)
			}
		}
	}
	kept := map[string]any{}
	for k, v := range o {
		if k != "status" && k != "metadata" {
			kept[k] = v
		}
	}
	for _, k := range []string{"labels", "annotations", "ownerReferences", "finalizers", "deletionTimestamp", "uid"} {
		if v, ok := meta[k]; ok {
			kept["metadata."+k] = v
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		panic(err)
	}
	return name, string(text), true
}

// storm sends random operations and counts their answers.
func (w *world) storm(t *testing.T, tenant string, seed uint64) map[string]int {
	t.Helper()
	const workers = 4
	counts := map[string]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			r := chaos{Rand: rand.New(rand.NewPCG(seed, uint64(worker))), tenant: tenant}
			for range operations / workers {
				r.tame = r.IntN(2) == 0
				as, method, at, kind, body := r.operation(w.kinds)
				code, _ := w.send(t, method, at, kind, body, as)
				mu.Lock()
				counts[fmt.Sprint(code)]++
				if code/100 == 2 {
					counts["2xx"]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return counts
}

func (w *world) send(t *testing.T, method, at, contentType string, body []byte, as string) (int, []byte) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.host+at, bytes.NewReader(body))
	if err != nil {
		return 0, nil // a name that no URL can have
	}
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if as != "" {
		req.Header.Set("Impersonate-User", as)
	}
	res, err := w.client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = res.Body.Close() }()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil
	}
	return res.StatusCode, out
}

// chaos chooses. Every other operation is tame, so that some of them work.
type chaos struct {
	*rand.Rand
	tenant string
	tame   bool
}

func (c chaos) one(all ...string) string { return all[c.IntN(len(all))] }

// operation is any request that may come to a tenant's mind.
func (c chaos) operation(kinds []kind) (as, method, at, contentType string, body []byte) {
	as = c.one("system:serviceaccount:"+c.tenant+":"+c.tenant, "system:serviceaccount:"+c.tenant+"-web:"+c.tenant, c.tenant+"-owner", c.tenant+"-editor", c.tenant+"-writer")
	k := kinds[c.IntN(len(kinds))]
	if c.tame || c.IntN(3) == 0 { // what tenancy is made of, more often
		k = slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool {
			return !slices.Contains([]string{"namespaces", "rolebindings", "roles", "serviceaccounts", "resourcequotas", "networkpolicies", "secrets", "configmaps", "kustomizations", "services"}, k.name)
		})[c.IntN(10)]
	}
	namespace := c.namespace()
	name := c.name()
	if k.name == "namespaces" {
		name = c.namespace()
	}
	at = k.base(namespace)
	object := c.object(k, namespace, name)
	sub := ""
	if len(k.subresources) > 0 && c.IntN(4) == 0 {
		sub = "/" + k.subresources[c.IntN(len(k.subresources))]
	}
	marshal := func(v any) []byte {
		out, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return out
	}
	switch c.IntN(9) {
	case 0, 1, 2:
		return as, http.MethodPost, at, "application/json", marshal(object)
	case 3:
		return as, http.MethodPatch, at + "/" + name + sub + "?fieldManager=chaos&force=true", "application/apply-patch+yaml", marshal(object)
	case 4:
		return as, http.MethodPatch, at + "/" + name + sub, "application/merge-patch+json", marshal(c.change(object))
	case 5:
		return as, http.MethodPatch, at + "/" + name + sub, "application/json-patch+json", marshal(c.patch())
	case 6:
		return as, http.MethodPut, at + "/" + name + sub, "application/json", marshal(object)
	case 7:
		return as, http.MethodDelete, at + "/" + name, "application/json", nil
	default:
		return as, http.MethodDelete, at, "application/json", nil
	}
}

func (c chaos) namespace() string {
	if c.tame {
		return c.one(c.tenant, c.tenant+"-web", c.tenant+"-x")
	}
	return c.one(c.tenant, c.tenant+"-web", c.tenant+"-web", c.tenant+"-x", rich, rich+"-web", bare, "kube-system", "default", "flux-system", "tenantry-system", c.tenant+"-y", "kube-"+c.tenant)
}

func (c chaos) name() string {
	return c.one("a", "b", "app", "default", c.tenant, rich, "tenantry", "tenantry:admin", "tenantry:owner", "tenantry-isolate", "kube-root-ca.crt", "tenantry-namespaces", "cluster-admin", "provider-x", "platform-keys")
}

func (c chaos) labels() map[string]any {
	out := map[string]any{}
	for range c.IntN(3) {
		if c.tame {
			return map[string]any{"team": "x"}
		}
		out[c.one("team", "tenantry.dev/tenant", "tenantry.dev/managed", "tenantry.dev/gateway", "tenantry.dev/cordoned", "pod-security.kubernetes.io/enforce", "toolkit.fluxcd.io/tenant", "sharding.fluxcd.io/key", "tenantry.dev/aggregate-to-admin")] =
			c.one(c.tenant, rich, "", "true", "privileged", "x")
	}
	return out
}

// object is one of a kind with fields that many kinds have; which of them an API keeps
// is its affair.
func (c chaos) object(k kind, namespace, name string) map[string]any {
	meta := map[string]any{"name": name, "labels": c.labels()}
	if k.namespaced {
		meta["namespace"] = namespace
	}
	if !c.tame && c.IntN(6) == 0 {
		meta["annotations"] = map[string]any{c.one("tenantry.dev/excepted", "tenantry.dev/sources", "note"): c.one("pods/registry", "https://", "x")}
	}
	if !c.tame && c.IntN(8) == 0 {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "1"}}
	}
	if !c.tame && c.IntN(8) == 0 {
		meta["finalizers"] = []any{"example.com/stay"}
	}
	if c.IntN(10) == 0 {
		delete(meta, "name")
		meta["generateName"] = c.namespace() + "-"
	}
	version := k.version
	if k.group != "" {
		version = k.group + "/" + version
	}
	o := map[string]any{"apiVersion": version, "kind": kindOf(k.name), "metadata": meta}
	maps.Copy(o, c.content(k.name, namespace))
	return o
}

// content is what makes an object of some kinds whole.
func (c chaos) content(resource, namespace string) map[string]any {
	who := []any{
		map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": c.one("friend", "system:serviceaccount:"+rich+":"+rich)},
		map[string]any{"kind": "ServiceAccount", "name": c.one("default", c.tenant, rich), "namespace": c.one(namespace, rich, "kube-system")},
		map[string]any{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": c.one("system:authenticated", "friends", "system:serviceaccounts:"+rich)},
	}
	pod := map[string]any{
		"serviceAccountName": c.one("default", c.tenant), "hostNetwork": c.IntN(4) == 0,
		"containers": []any{map[string]any{"name": "a", "image": c.one("nginx", "registry.example.com/oil/x")}},
	}
	switch resource {
	case "configmaps", "secrets":
		return map[string]any{"data": map[string]any{c.one("a", "address"): "eA=="}}
	case "rolebindings", "clusterrolebindings":
		return map[string]any{
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": c.one("tenantry:view", "tenantry:admin", "tenantry:owner", "tenantry:grower", "cluster-admin", "admin", "edit", "tenantry:controller")},
			"subjects": []any{who[c.IntN(len(who))]},
		}
	case "roles", "clusterroles":
		return map[string]any{"rules": []any{map[string]any{
			"apiGroups": []any{c.one("", "tenantry.dev", "*", "rbac.authorization.k8s.io")}, "resources": []any{c.one("configmaps", "secrets", "tenants", "*", "serviceaccounts/token", "roles")}, "verbs": []any{c.one("get", "*", "own", "bypass", "escalate", "create")},
		}}}
	case "pods":
		return map[string]any{"spec": pod}
	case "deployments", "replicasets", "statefulsets", "daemonsets", "jobs":
		l := map[string]any{"app": "x"}
		return map[string]any{"spec": map[string]any{"selector": map[string]any{"matchLabels": l}, "template": map[string]any{"metadata": map[string]any{"labels": l}, "spec": pod}}}
	case "services":
		return map[string]any{"spec": map[string]any{"type": c.one("ClusterIP", "NodePort", "LoadBalancer"), "ports": []any{map[string]any{"port": 80}}, "externalIPs": []any{"203.0.113.7"}[:c.IntN(2)]}}
	case "resourcequotas":
		return map[string]any{"spec": map[string]any{"hard": map[string]any{"pods": "1000"}}}
	case "networkpolicies":
		return map[string]any{"spec": map[string]any{"podSelector": map[string]any{}, "ingress": []any{map[string]any{}}[:c.IntN(2)]}}
	case "kustomizations":
		return map[string]any{"spec": map[string]any{"interval": "1h", "prune": true, "serviceAccountName": c.one(c.tenant, rich, "default", ""), "sourceRef": map[string]any{"kind": "GitRepository", "name": "x", "namespace": c.one("", rich, "flux-system")}}}
	case "gitrepositories":
		return map[string]any{"spec": map[string]any{"interval": "1h", "url": c.one("https://git.example.com/oil/x", "https://git.example.com/"+c.tenant)}}
	case "tenants":
		return map[string]any{"spec": map[string]any{"owners": []any{map[string]any{"kind": "User", "name": c.tenant + "-owner"}}, "namespaces": map[string]any{"selfService": map[string]any{"limit": 1000}}}}
	case "persistentvolumeclaims":
		return map[string]any{"spec": map[string]any{"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Mi"}}, "volumeName": c.one("", "pv")}}
	}
	return map[string]any{"spec": map[string]any{}}
}

// change is a merge patch.
func (c chaos) change(o map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range o {
		if k != "apiVersion" && k != "kind" && c.IntN(2) == 0 {
			out[k] = v
		}
	}
	if c.IntN(3) == 0 {
		out["metadata"] = map[string]any{"labels": map[string]any{c.one("tenantry.dev/tenant", "tenantry.dev/managed", "pod-security.kubernetes.io/enforce"): nil}}
	}
	return out
}

func (c chaos) patch() []map[string]any {
	label := c.one("tenantry.dev~1tenant", "tenantry.dev~1managed", "pod-security.kubernetes.io~1enforce", "team")
	return []map[string]any{{"op": c.one("add", "replace", "remove"), "path": "/metadata/labels/" + label, "value": c.one(c.tenant, rich, "privileged")}}
}

// served are all kinds with their subresources, each in its preferred version.
func served(t *testing.T, api *testkit.API) []kind {
	t.Helper()
	d := discoveryOf(t, api)
	lists, err := d.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []kind
	for _, l := range lists {
		group, version, ok := strings.Cut(l.GroupVersion, "/")
		if !ok {
			group, version = "", l.GroupVersion
		}
		full, err := d.ServerResourcesForGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			k := kind{group: group, version: version, name: r.Name, namespaced: r.Namespaced, listable: slices.Contains(r.Verbs, "list")}
			for _, s := range full.APIResources {
				// What streams is asked of the authorizer by the suite.
				if parent, sub, ok := strings.Cut(s.Name, "/"); ok && parent == r.Name && !slices.Contains([]string{"exec", "attach", "portforward", "proxy", "log"}, sub) {
					k.subresources = append(k.subresources, sub)
				}
			}
			kindNames[r.Name] = r.Kind
			all = append(all, k)
		}
	}
	return all
}

// kindNames are the kinds of resources.
var kindNames = map[string]string{}

func kindOf(resource string) string { return kindNames[resource] }
