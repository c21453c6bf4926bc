// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestOneThingStandsTogetherAndWhatDiffersIsMarked(t *testing.T) {
	t.Parallel()
	clusters := []string{"staging", "production"}
	rows := []Row{
		{Kind: Sync, Tenant: "oil", Cluster: "production", Object: "Kustomization", Namespace: "oil", Name: "apps", Ready: "True", Revision: "main@sha1:1", From: "./production"},
		{Kind: Tenant, Tenant: "oil", Name: "oil", Cluster: "production", Ready: "True", Owners: "a"},
		{Kind: Sync, Tenant: "oil", Cluster: "staging", Object: "Kustomization", Namespace: "oil", Name: "apps", Ready: "True", Revision: "main@sha1:2", From: "./staging"},
		{Kind: Tenant, Tenant: "oil", Name: "oil", Cluster: "staging", Ready: "True", Owners: "a"},
		{Kind: Tenant, Tenant: "gas", Name: "gas", Cluster: "staging", Ready: "True"},
	}
	rows = append(rows, absent(rows, clusters, Query{})...)
	var got []string
	for _, r := range compare(rows, clusters) {
		got = append(got, strings.Join([]string{r.Tenant, string(r.Kind), r.Cluster, r.Ready, strings.Join(r.Differs, "+")}, " "))
	}
	want := []string{
		"gas Tenant staging True ", "gas Tenant production absent absent",
		"oil Tenant staging True ", "oil Tenant production True ",
		"oil Sync staging True revision", "oil Sync production True revision",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheFleetSaysWhatIsExpected(t *testing.T) {
	t.Parallel()
	rows := []Row{{Kind: Tenant, Tenant: "oil", Name: "oil", Cluster: "staging"}}
	q := Query{Expected: map[string][]string{"staging": {"gas"}, "production": nil}}
	got := absent(rows, []string{"staging", "production"}, q)
	if len(got) != 1 || got[0].Tenant != "gas" || got[0].Cluster != "staging" {
		t.Errorf("absent are %v, want gas in staging alone", got)
	}
}

func TestInventory(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"oil_web_apps_Deployment":                                     "Deployment oil/web",
		"oil_about__ConfigMap":                                        "ConfigMap oil/about",
		"_tenantry__admin_rbac.authorization.k8s.io_ClusterRole":      "ClusterRole tenantry:admin",
		"oil_tenantry__role__x_rbac.authorization.k8s.io_RoleBinding": "RoleBinding oil/tenantry:role:x",
		"_oil__Namespace":                                             "Namespace oil",
		"":                                                            " ",
	} {
		if got := objectOf(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
}

func TestAClusterThatDoesNotAnswerDelaysNobody(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	start := time.Now()
	result := Ask(t.Context(), []Cluster{
		{Name: "silent", Config: &rest.Config{Host: "http://" + silent.Addr().String()}},
		{Name: "gone", Config: &rest.Config{Host: "http://" + gone.Addr().String()}},
		{Name: "unnamed", Err: errors.New("no context")},
	}, Query{Kinds: []Kind{Tenant}, Timeout: time.Second})
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	if result.Answered() {
		t.Error("all answered")
	}
	for i, says := range []string{"no answer within 1s", "connection refused", "no context"} {
		if !strings.Contains(result.Clusters[i].Error, says) {
			t.Errorf("%s: %q, want %q", result.Clusters[i].Cluster, result.Clusters[i].Error, says)
		}
	}
}
