// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
)

const (
	// namespacesPerTenant is the shape of bench onboard.
	namespacesPerTenant = 3
	// samples of each kind at each size.
	samples = 2000
	writer  = "bench-writer"
	plain   = "plain"
	tenant  = "m0000"
	tenants = tenant + "-a"
)

// written are what is written into both namespaces, from what one policy looks at to
// what most do.
var written = []struct{ kind, manifest string }{
	{"ConfigMap", `{apiVersion: v1, kind: ConfigMap, data: {key: value}}`},
	{"Pod", `{apiVersion: v1, kind: Pod, spec: {automountServiceAccountToken: false,
		containers: [{name: app, image: registry.example.com/m0000/app:1}, {name: proxy, image: registry.example.com/m0000/proxy:1}],
		tolerations: [{key: dedicated, operator: Equal, value: m0000}], nodeSelector: {pool: m0000}}}`},
	{"Ingress", `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: app.m0000.example.com,
		http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: app, port: {number: 80}}}}]}}], tls: [{hosts: [app.m0000.example.com], secretName: tls}]}}`},
	{"Kustomization", `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {serviceAccountName: m0000, interval: 10m,
		prune: true, path: ./app, sourceRef: {kind: GitRepository, name: app}, dependsOn: [{name: crds}]}}`},
}

// admission measures a write as the number of tenants grows.
func admission(ctx context.Context, b *bench) error {
	have := 0
	fmt.Println("| namespaces of tenants | kind | plain p50 | tenant p50 | ratio | tenant p99 |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, namespaces := range []int{10, 1_000, 10_000} {
		want := (namespaces + namespacesPerTenant - 1) / namespacesPerTenant
		if err := populate(ctx, b, have, want); err != nil {
			return err
		}
		if have == 0 {
			if err := prepare(ctx, b); err != nil {
				return err
			}
		}
		have = want
		for _, w := range written {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(w.manifest), &o.Object); err != nil {
				return err
			}
			p, t, err := measure(ctx, b, o)
			if err != nil {
				return err
			}
			fmt.Printf("| %d | %s | %.2f ms | %.2f ms | %.2f | %.2f ms |\n", namespaces, w.kind, ms(percentile(p, 50)), ms(percentile(t, 50)),
				float64(percentile(t, 50))/float64(percentile(p, 50)), ms(percentile(t, 99)))
		}
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// populate writes what admission and authorization look through: namespaces with
// their labels, bindings, and the bindings that all tenants share.
func populate(ctx context.Context, b *bench, from, to int) error {
	fmt.Fprintf(os.Stderr, "write tenants %d to %d ...\n", from, to)
	all := make([]*v1alpha1.Tenant, to)
	for i := range all {
		name := fmt.Sprintf("m%04d", i)
		all[i] = &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TenantSpec{
			Owners:     []v1alpha1.Owner{{Kind: v1alpha1.OwnerGroup, Name: name + "-team"}},
			Namespaces: v1alpha1.NamespacesSpec{Declared: []string{name + "-a", name + "-b"}, SelfService: &v1alpha1.SelfService{Limit: 5}},
			Domains:    []string{name + ".example.com"},
			Sources:    v1alpha1.SourcesSpec{Allow: []string{"https://git.example.com/" + name + "/"}},
			Allow: v1alpha1.AllowSpec{
				Registries:  []string{"registry.example.com/" + name + "/", "docker.io/library/"},
				Tolerations: []string{"dedicated=" + name}, NodeSelectors: []string{"pool=" + name},
			},
		}}
	}
	if err := parallel(to-from, rawWorkers, func(i int) error {
		for _, o := range compile.Tenant(all[from+i], compile.Facts{}).Objects() {
			if o.GetKind() != "Namespace" && o.GetKind() != "RoleBinding" {
				continue
			}
			if err := kube.Apply(ctx, b.client, o); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return parallel(compile.Shards, 4, func(shard int) error {
		if o := compile.Provisioners(shard, all); o != nil {
			return kube.Apply(ctx, b.client, o)
		}
		return nil
	})
}

// prepare gives one identity the same rights in a plain namespace and in a tenant's.
func prepare(ctx context.Context, b *bench) error {
	if err := b.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plain}}); err != nil {
		return err
	}
	verbs := []string{"create", "update", v1alpha1.VerbRunAs}
	if err := b.client.Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: writer},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"", "networking.k8s.io", "kustomize.toolkit.fluxcd.io", v1alpha1.Group},
			Resources: []string{"configmaps", "pods", "ingresses", "kustomizations", "tenants"}, Verbs: verbs,
		}},
	}); err != nil {
		return err
	}
	for _, ns := range []string{plain, tenants} {
		if err := b.client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "default"}}); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		if err := b.client.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: writer},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: writer},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: writer}},
		}); err != nil {
			return err
		}
	}
	time.Sleep(2 * time.Second) // grants reach the authorizer through a watch
	return nil
}

// measure writes into both namespaces in turn, so that both see the same machine.
func measure(ctx context.Context, b *bench, what *unstructured.Unstructured) (inPlain, inTenant []time.Duration, err error) {
	c, err := kube.NewClient(kube.As(b.config, writer))
	if err != nil {
		return nil, nil, err
	}
	one := func(ns string) (time.Duration, error) {
		o := what.DeepCopy()
		o.SetNamespace(ns)
		o.SetGenerateName("bench-")
		start := time.Now()
		err := c.Create(ctx, o, client.DryRunAll)
		return time.Since(start), err
	}
	for i := range samples + samples/10 {
		p, err := one(plain)
		if err != nil {
			return nil, nil, err
		}
		t, err := one(tenants)
		if err != nil {
			return nil, nil, err
		}
		if i >= samples/10 { // the first tenth warms up
			inPlain, inTenant = append(inPlain, p), append(inTenant, t)
		}
	}
	return inPlain, inTenant, nil
}
