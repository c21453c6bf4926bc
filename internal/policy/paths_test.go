// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestPaths tries the ways to an object that are not its own create, update or patch.
func TestPaths(t *testing.T) {
	api := testkit.Get(t)
	ctx := t.Context()
	tn := tenant("pier")
	tn.Spec.Allow = v1alpha1.AllowSpec{Registries: []string{"ghcr.io/pier/"}, DeviceClasses: []string{"gpu"}}
	tn.Spec.Sources.Verify = &v1alpha1.VerifySpec{SecretNames: []string{"signers"}}
	build(t, api, tn)
	bind(t, api, "pier-web", "root", "cluster-admin", subjectUser("pier-root"),
		rbac("monitoring", "agent"), rbac("pier-web", "worker"))
	root := api.As(t, "pier-root")
	agent := api.AsAccount(t, "monitoring", "agent")
	granted(t, root, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "pier-web", Name: "granted"}})
	granted(t, agent, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "pier-web", Name: "granted"}})

	make := func(manifestYAML string) client.Object {
		t.Helper()
		o := manifest(t, manifestYAML, "pier-web")
		if err := api.Client.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	pod := make(`{apiVersion: v1, kind: Pod, metadata: {name: app}, spec: {containers: [{name: app, image: ghcr.io/pier/app}]}}`)
	service := make(`{apiVersion: v1, kind: Service, metadata: {name: app}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`)
	key := make(`{apiVersion: v1, kind: Secret, metadata: {name: signers}}`)
	source := make(`{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: app}, spec: {interval: 1m, url: "https://git.example.com/x"}}`)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "pier-web", Name: "pier"}}
	worker := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "pier-web", Name: "worker"}}
	if err := api.Client.Create(ctx, worker); err != nil {
		t.Fatal(err)
	}
	patch := func(c client.Client, o client.Object, sub, body string) error {
		p := client.RawPatch(merge, []byte(body))
		copied := o.DeepCopyObject().(client.Object)
		if sub == "" {
			opts := patchOptions(merge)
			return c.Patch(ctx, copied, p, &opts)
		}
		return c.SubResource(sub).Patch(ctx, copied, p, &client.SubResourcePatchOptions{PatchOptions: patchOptions(merge)})
	}
	strategic := func(c client.Client, o client.Object, sub, body string) error {
		p := client.RawPatch("application/strategic-merge-patch+json", []byte(body))
		copied := o.DeepCopyObject().(client.Object)
		if sub == "" {
			return c.Patch(ctx, copied, p, client.DryRunAll)
		}
		return c.SubResource(sub).Patch(ctx, copied, p, client.DryRunAll)
	}
	container := func(field, image string) string {
		return fmt.Sprintf(`{"spec":{"%s":[{"name":"%s","image":"%s"}]}}`, field, map[string]string{"containers": "app", "ephemeralContainers": "debug"}[field], image)
	}
	token := func(c client.Client, sa *corev1.ServiceAccount) error {
		return c.SubResource("token").Create(ctx, sa.DeepCopy(), &authenticationv1.TokenRequest{}, client.DryRunAll)
	}
	volume := `{apiVersion: v1, kind: PersistentVolume, metadata: {name: pier-pv}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}, claimRef: {namespace: pier-web, name: app}}}`
	provisioner := grantVolumes(t, api, "pier-owner")
	for name, tc := range map[string]struct {
		err          error
		policy, rule string
	}{
		"a Pod's image, changed":                {strategic(root, pod, "", container("containers", "ghcr.io/gas/app")), "pods", "registry"},
		"a Pod's image, changed within":         {strategic(root, pod, "", container("containers", "ghcr.io/pier/app:2")), "", ""},
		"an ephemeral container":                {strategic(root, pod, "ephemeralcontainers", container("ephemeralContainers", "busybox")), "pods", "registry"},
		"an ephemeral container within":         {strategic(root, pod, "ephemeralcontainers", container("ephemeralContainers", "ghcr.io/pier/debug")), "", ""},
		"a label of a Pod":                      {patch(root, pod, "", `{"metadata":{"labels":{"a":"b"}}}`), "", ""},
		"a Service's status":                    {patch(root, service, "status", `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.7"}]}}}`), "status", "controllers-only"},
		"a Service's status, by an account":     {patch(api.AsAccount(t, "pier-web", "worker"), service, "status", `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.7"}]}}}`), "status", "controllers-only"},
		"a Service's status, by the platform":   {patch(agent, service, "status", `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.7"}]}}}`), "", ""},
		"a source's status":                     {patch(root, source, "status", `{"status":{"artifact":null}}`), "flux-status", "flux-only"},
		"a source's status, by the platform":    {patch(agent, source, "status", `{"status":{"artifact":null}}`), "flux-status", "flux-only"},
		"a source's status, by Flux":            {patch(api.As(t, "system:serviceaccount:flux-system:source-controller", "system:serviceaccounts:flux-system", "system:masters"), source, "status", `{"status":{"artifact":null}}`), "", ""},
		"a token of the account":                {token(root, account), "tokens", "managed"},
		"a token of the account, by a stranger": {token(agent, account), "tokens", "managed"},
		"a token of an account of its own":      {token(root, worker), "", ""},
		"a key of the platform, deleted":        {root.Delete(ctx, key.DeepCopyObject().(client.Object), client.DryRunAll), "kept", "names"},
		"keys of the platform, all deleted":     {root.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace("pier-web"), client.DryRunAll), "kept", "names"},
		"a volume, by one who provisions":       {provisioner.Create(ctx, manifest(t, volume, ""), client.DryRunAll), "volumes", "platform-only"},
		"a volume, by the platform":             {grantVolumes(t, api, "csi-operator").Create(ctx, manifest(t, volume, ""), client.DryRunAll), "", ""},
	} {
		t.Run(name, func(t *testing.T) { expect(t, tc.err, tc.policy, tc.rule) })
	}

	t.Run("devices with admin access", func(t *testing.T) {
		// The API asks for this label, which tenants may not set.
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "pier-web"}}
		label := client.RawPatch(merge, []byte(`{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`))
		expect(t, api.As(t, "pier-owner").Patch(ctx, ns.DeepCopy(), label, client.DryRunAll), "namespaces", "reserved")
		if err := api.Client.Patch(ctx, ns, label); err != nil {
			t.Fatal(err)
		}
		const spec = `devices: {requests: [{name: a, exactly: {deviceClassName: gpu, adminAccess: true}}]}`
		claim := manifest(t, `{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}, spec: {`+spec+`}}`, "pier-web")
		expect(t, root.Create(ctx, claim, client.DryRunAll), "resourceclaims", "admin-access")
		template := manifest(t, `{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {`+spec+`}}}`, "pier-web")
		expect(t, root.Create(ctx, template, client.DryRunAll), "resourceclaimtemplates", "admin-access")
	})
}
