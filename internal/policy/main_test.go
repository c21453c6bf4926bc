// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(m, testkit.Options{Flux: true, ControlPlaneOptions: local.ControlPlaneOptions{
		Controllers:  true,
		FeatureGates: "CrossNamespaceVolumeDataSource=true,ImageVolume=true",
	}})
}

// tenant is a self-service tenant owned by the user of its name.
func tenant(name string) *v1alpha1.Tenant {
	return &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.TenantSpec{
			Owners:     []v1alpha1.Owner{{Kind: v1alpha1.OwnerUser, Name: name + "-owner"}, {Kind: v1alpha1.OwnerUser, Name: name + "-editor", Role: v1alpha1.RoleEdit}, {Kind: v1alpha1.OwnerUser, Name: "both"}},
			Namespaces: v1alpha1.NamespacesSpec{SelfService: &v1alpha1.SelfService{Limit: 100}},
			Quota:      corev1.ResourceList{},
		},
	}
}

// build writes what tenants compile to, with one namespace <tenant>-web each that
// they made themselves, as the controller would.
func build(t *testing.T, api *testkit.API, tenants ...*v1alpha1.Tenant) {
	t.Helper()
	ctx := t.Context()
	for _, tn := range tenants {
		web := compile.Namespace{Name: tn.Name + "-web", Created: time.Now()}
		for _, o := range compile.Tenant(tn, compile.Facts{Namespaces: []compile.Namespace{web}, Strangers: []string{tn.Name + "-system"}}).Objects() {
			if err := kube.Apply(ctx, api.Client, o); err != nil {
				t.Fatal(err)
			}
		}
	}
	provision(t, api, tenants)
	// Grants reach the authorizer through a watch.
	for _, tn := range tenants {
		c := api.AsAccount(t, tn.Name, tn.Name)
		testkit.Eventually(t, 30*time.Second, "tenant "+tn.Name+" may act", func() error {
			if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tn.Name + "-probe", Labels: map[string]string{v1alpha1.TenantLabel: tn.Name}}}, client.DryRunAll); err != nil {
				return err
			}
			return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: tn.Name + "-web"}}, client.DryRunAll)
		})
	}
}

// provisioned are all tenants so far: they share the bindings that let them make
// namespaces.
var provisioned struct {
	sync.Mutex
	tenants []*v1alpha1.Tenant
}

func provision(t *testing.T, api *testkit.API, tenants []*v1alpha1.Tenant) {
	t.Helper()
	provisioned.Lock()
	defer provisioned.Unlock()
	provisioned.tenants = append(provisioned.tenants, tenants...)
	for shard := range compile.Shards {
		if o := compile.Provisioners(shard, provisioned.tenants); o != nil {
			if err := kube.Apply(t.Context(), api.Client, o); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// learn has the API server serve kinds of software that came after the walls.
func learn(t *testing.T, api *testkit.API) {
	t.Helper()
	learnt.Do(func() {
		testkit.InstallThirdPartyCRDs(t, api, "testdata/crds")
	})
}

var learnt sync.Once

func background() context.Context { return context.Background() }
