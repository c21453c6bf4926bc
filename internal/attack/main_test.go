// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(m, testkit.Options{Flux: true, ControlPlaneOptions: local.ControlPlaneOptions{
		Controllers:  true,
		FeatureGates: "CrossNamespaceVolumeDataSource=true,ImageVolume=true",
	}})
}

// The tenants that attacks are played on. Between them every attack can be.
const (
	rich   = "oil"  // every list has something
	signed = "sig"  // applies only what is signed
	frozen = "ice"  // cordoned
	full   = "brim" // at its limit of namespaces
	bare   = "bare" // only owners
	gpu    = "lab"  // with a namespace that claims devices as an admin
	wild   = "ant"  // does whatever comes to mind
	wilder = "bee"  // and so does this one
)

// tame tenants are those that walls are seen holding on.
var tame = []string{rich, signed, frozen, full, bare, gpu}

func owners(tenant string) []v1alpha1.Owner {
	return []v1alpha1.Owner{
		{Kind: v1alpha1.OwnerUser, Name: tenant + "-owner"},
		{Kind: v1alpha1.OwnerUser, Name: tenant + "-editor", Role: v1alpha1.RoleEdit},
		{Kind: v1alpha1.OwnerGroup, Name: tenant + "-viewers", Role: v1alpha1.RoleView},
	}
}

func spec(tenant string) v1alpha1.TenantSpec {
	s := v1alpha1.TenantSpec{Owners: owners(tenant)}
	s.Namespaces.Declared = []string{tenant + "-web"}
	s.Namespaces.SelfService = &v1alpha1.SelfService{Limit: 3}
	switch tenant {
	case bare:
		s.Namespaces = v1alpha1.NamespacesSpec{}
	case full:
		s.Namespaces.SelfService.Limit = 1
	case signed:
		s.Sources.Allow = []string{"https://git.example.com/sig/", "oci://registry.example.com/sig/"}
		s.Sources.Buckets = []v1alpha1.AllowedBucket{{Endpoint: "minio.example.com", Name: "sig"}}
		s.Sources.Verify = &v1alpha1.VerifySpec{SecretNames: []string{"platform-keys"}}
	case gpu:
		s.Allow.DeviceClasses = []string{"gpu"}
	case rich:
		s.Namespaces.PodSecurity = v1alpha1.PodSecurityBaseline
		s.Quota = corev1.ResourceList{"pods": resource.MustParse("50"), "requests.cpu": resource.MustParse("4")}
		s.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("10m")}}}
		s.Sources.Allow = []string{"https://git.example.com/oil/", "oci://registry.example.com/oil/", "ssh://git@git.example.com/oil/"}
		s.Sources.Buckets = []v1alpha1.AllowedBucket{{Endpoint: "minio.example.com", Name: "oil-*"}}
		s.Domains = []string{"oil.example.com"}
		s.Allow = v1alpha1.AllowSpec{
			ServiceTypes: []v1alpha1.ServiceType{"ClusterIP"}, IngressClasses: []string{"public"}, GatewayClasses: []string{"shared"},
			Gateways: []string{"gateway-system/public"}, DeviceClasses: []string{"gpu"}, Registries: []string{"registry.example.com/oil/"},
			PullPolicies: []v1alpha1.PullPolicy{"Always"}, KubeConfigs: []string{"remote"}, Addresses: []string{"https://hooks.example.com/oil/"},
		}
		s.Secrets = v1alpha1.SecretsSpec{Stores: []string{"platform"}, KeyPrefixes: []string{"teams/oil/"}, Providers: []string{"vault"}}
	}
	return s
}

var stage struct {
	sync.Once
	stop func()
	err  error
}

// tenants onboards all of them, once for the package, and stops the controller.
func tenants(t *testing.T, api *testkit.API) {
	t.Helper()
	stage.Do(func() {
		testkit.InstallThirdPartyCRDs(t, api, "../policy/testdata/crds")
		stop := testkit.StartController(t, api)
		onboard(t, api)
		stop()
	})
	if t.Failed() {
		t.FailNow()
	}
}

func onboard(t *testing.T, api *testkit.API) {
	t.Helper()
	ctx := t.Context()
	for _, o := range []client.Object{
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "host"}, Handler: "host"},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flux-system"}},
	} {
		if err := api.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	all := append(slices.Clone(tame), wild, wilder)
	for _, name := range all {
		if err := api.Client.Create(ctx, &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec(name)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range all {
		ready(t, api, name)
		for _, ns := range []string{name, name + "-web"} {
			if name == bare && ns != bare {
				continue
			}
			bind(t, api, ns, "cluster-admin", name+"-root")
			bind(t, api, ns, "tenantry:admin", name+"-writer")
		}
	}
	owner := api.AsAccount(t, full, full)
	testkit.Eventually(t, 10*time.Second, "the account makes a namespace", func() error {
		return owner.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: full + "-more", Labels: map[string]string{v1alpha1.TenantLabel: full}}})
	})
	patch := func(o client.Object, body string) {
		t.Helper()
		if err := api.Client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
			t.Fatal(err)
		}
	}
	patch(&v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: frozen}}, `{"spec":{"cordoned":true}}`)
	patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: gpu + "-web"}}, `{"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}}`)
	grantVolumes(t, api, rich+"-owner")
	testkit.Eventually(t, 20*time.Second, "all is as it shall be", func() error {
		cast, err := attack.ReadCast(ctx, api.Client)
		if err != nil {
			return err
		}
		for _, check := range []struct{ tenant, value string }{{frozen, "FROZEN"}, {full, "FULL"}, {gpu, "ADMINACCESS"}} {
			sc, err := cast.Scene(check.tenant)
			if err != nil {
				return err
			}
			if sc.Values[check.value] == nil {
				return fmt.Errorf("%s: %s", check.tenant, sc.Missing[check.value])
			}
		}
		// What the controller took away reaches the authorizer by a watch.
		for _, limited := range []string{frozen, full} {
			err := api.AsAccount(t, limited, limited).Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: limited + "-probe", Labels: map[string]string{v1alpha1.TenantLabel: limited}}}, client.DryRunAll)
			if !apierrors.IsForbidden(err) {
				return fmt.Errorf("%s may grow: %w", limited, err)
			}
		}
		return nil
	})
	for _, name := range []string{rich, signed, gpu, wild, wilder} {
		testkit.Eventually(t, 10*time.Second, name+" may make namespaces", func() error {
			return api.As(t, name+"-owner").Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name + "-probe", Labels: map[string]string{v1alpha1.TenantLabel: name}}}, client.DryRunAll)
		})
		for _, user := range []string{name + "-root", name + "-writer"} {
			c := api.As(t, user)
			testkit.Eventually(t, 10*time.Second, user+" may write", func() error {
				return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name + "-web", Name: "probe"}}, client.DryRunAll)
			})
		}
	}
}

func ready(t *testing.T, api *testkit.API, name string) {
	t.Helper()
	testkit.Eventually(t, 30*time.Second, "tenant "+name+" is ready", func() error {
		tn := &v1alpha1.Tenant{}
		if err := api.Client.Get(t.Context(), client.ObjectKey{Name: name}, tn); err != nil {
			return err
		}
		for _, c := range tn.Status.Conditions {
			if c.Type == v1alpha1.ReadyCondition && c.Status == metav1.ConditionTrue && c.ObservedGeneration == tn.Generation {
				return nil
			}
		}
		return fmt.Errorf("status is %+v", tn.Status.Conditions)
	})
}

func bind(t *testing.T, api *testkit.API, namespace, role, user string) {
	t.Helper()
	err := api.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// grantVolumes lets a user write volumes, as a platform may have by mistake.
func grantVolumes(t *testing.T, api *testkit.API, user string) {
	t.Helper()
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "volumes"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"persistentvolumes"}, Verbs: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "volumes"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "volumes"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		},
	} {
		if err := api.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	c := api.As(t, user)
	testkit.Eventually(t, 30*time.Second, "the grant is known", func() error { return c.List(t.Context(), &corev1.PersistentVolumeList{}) })
}

// scenes are those of tenants, by default the tame ones, with the identities that tests
// made.
func scenes(t *testing.T, api *testkit.API, names ...string) []attack.Scene {
	t.Helper()
	cast, err := attack.ReadCast(t.Context(), api.Client)
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		names = tame
	}
	var all []attack.Scene
	for _, name := range names {
		sc, err := cast.Scene(name, func(f *attack.SceneFacts) {
			f.Root, f.Writer, f.OwnerVolumes = name+"-root", name+"-writer", name == rich
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sc)
	}
	return all
}

func background() context.Context { return context.Background() }

func discoveryOf(t *testing.T, api *testkit.API) *discovery.DiscoveryClient {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func nameOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }
