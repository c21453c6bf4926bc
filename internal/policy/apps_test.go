// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/testkit"
)

const apps = "../../examples/apps"

// TestOrdinaryApps applies applications that know nothing of walls as a tenant's account,
// as Flux does, and has Kubernetes make their Pods.
func TestOrdinaryApps(t *testing.T) {
	api := testkit.Get(t)
	content, err := os.ReadFile(filepath.Join(apps, "tenant.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tn := &v1alpha1.Tenant{}
	if err := yaml.UnmarshalStrict(content, tn); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(apps)
	if err != nil {
		t.Fatal(err)
	}
	build(t, api, tn)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			t.Parallel()
			runApp(t, api, tn, e.Name())
		})
	}
}

func runApp(t *testing.T, api *testkit.API, tn *v1alpha1.Tenant, app string) {
	ctx := t.Context()
	namespace := tn.Name + "-" + app
	for _, o := range compile.Tenant(tn, compile.Facts{Namespaces: []compile.Namespace{{Name: namespace, Created: time.Now()}}}).Objects() {
		if err := kube.Apply(ctx, api.Client, o); err != nil {
			t.Fatal(err)
		}
	}
	account := api.AsAccount(t, tn.Name, tn.Name)
	granted(t, account, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}})
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(apps, app))
	if err != nil {
		t.Fatal(err)
	}
	pods := 0
	for _, r := range resources.Resources() {
		o := &unstructured.Unstructured{}
		bytes, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := o.UnmarshalJSON(bytes); err != nil {
			t.Fatal(err)
		}
		if err := account.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), client.FieldOwner("kustomize-controller"), client.ForceOwnership); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			continue
		}
		switch o.GetKind() {
		case "Deployment", "StatefulSet":
			replicas, ok, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
			if !ok {
				replicas = 1
			}
			pods += int(replicas)
		case "Job":
			pods++
		case "CronJob":
			c := &batchv1.CronJob{}
			if err := account.Get(ctx, client.ObjectKeyFromObject(o), c); err != nil {
				t.Fatal(err)
			}
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "by-hand"}, Spec: c.Spec.JobTemplate.Spec}
			if err := account.Create(ctx, job); err != nil {
				t.Errorf("a Job of a CronJob: %v", err)
			}
			pods++
		}
	}
	if pods == 0 {
		return // a chart's Pods are made by Helm
	}
	testkit.Eventually(t, 60*time.Second, fmt.Sprintf("%d Pods are made", pods), func() error {
		list := &corev1.PodList{}
		if err := api.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(list.Items) == pods {
			return nil
		}
		events := &corev1.EventList{}
		if err := api.Client.List(ctx, events, client.InNamespace(namespace)); err != nil {
			return err
		}
		var why []string
		for _, e := range events.Items {
			if e.Type == corev1.EventTypeWarning {
				why = append(why, e.InvolvedObject.Kind+" "+e.InvolvedObject.Name+": "+e.Message)
			}
		}
		return fmt.Errorf("%d are there; %s", len(list.Items), strings.Join(why, "; "))
	})
	// Scaling is not held up either.
	deployments := &appsv1.DeploymentList{}
	if err := account.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range deployments.Items {
		patch := client.RawPatch(merge, []byte(`{"spec":{"replicas":4}}`))
		if err := account.SubResource("scale").Patch(ctx, &deployments.Items[i], patch, client.DryRunAll); err != nil {
			t.Errorf("scale %s: %v", deployments.Items[i].Name, err)
		}
	}
}
