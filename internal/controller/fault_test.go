// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/testkit"
)

// TestControllerDiesAtEveryWrite kills the controller after the first write of a phase of
// a tenant's life, after the second, and so on to the last; a new one then has to bring
// the tenant where it belongs. Each time it is seen what everybody may do, at once and
// when that has settled: nobody, at any moment, may do what was denied before the phase
// and is after it.
func TestControllerDiesAtEveryWrite(t *testing.T) {
	api := testkit.Get(t)
	most := map[string]int{}
	for n := 1; ; n++ {
		killed := life(t, api, n, most)
		if t.Failed() || !killed {
			break
		}
	}
	t.Logf("writes of each phase: %v", most)
	for phase, writes := range most {
		if writes < 2 {
			t.Errorf("phase %s made %d writes: too few to have been seen dying", phase, writes)
		}
	}
	testkit.StartController(t, api)
	testkit.Eventually(t, 60*time.Second, "all tenants are gone", func() error {
		namespaces := &corev1.NamespaceList{}
		if err := api.Client.List(t.Context(), namespaces); err != nil {
			return err
		}
		for _, ns := range namespaces.Items {
			if strings.HasPrefix(ns.Name, "fault-") {
				return fmt.Errorf("namespace %s is left", ns.Name)
			}
		}
		return nil
	})
}

// phase of a tenant's life.
type phase struct {
	name string
	do   func() error
	done func() error
	// later phases take the cluster a while: they are seen to have ended at the end of
	// the test. Nothing is left to be allowed then.
	later bool
}

// life leads one tenant through all phases; in each the controller dies after n writes.
// It tells whether it died in any.
func life(t *testing.T, api *testkit.API, n int, most map[string]int) (killed bool) {
	name := fmt.Sprintf("fault-%d", n)
	watch := newWatcher(t, api, name)
	for _, p := range phases(t, api, name) {
		before := watch.settled(t)
		watch.forget()
		s := &saboteur{tenant: name, last: n, after: watch.look, dead: make(chan struct{})}
		stop := testkit.StartController(t, api, func(c *rest.Config) { c.Wrap(s.wrap) })
		if err := p.do(); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		died := s.awaits(t, p)
		stop()
		most[p.name] = max(most[p.name], s.count())
		if died {
			killed = true
			watch.look()
			if p.later {
				expectUnseen(t, watch, p, n, before, nil)
				continue
			}
			stop = testkit.StartController(t, api)
			testkit.Eventually(t, 30*time.Second, fmt.Sprintf("%s converges after write %d of %s", name, n, p.name), p.done)
			stop()
		}
		expectUnseen(t, watch, p, n, before, watch.settled(t))
	}
	return killed
}

// expectUnseen sees that nothing was let through that was denied before and is after.
func expectUnseen(t *testing.T, w *watcher, p phase, n int, before, after map[string]bool) {
	t.Helper()
	for what := range w.seen() {
		if !before[what] && !after[what] && (!p.later || what != w.pruning()) {
			t.Errorf("in %s, with the controller dying at write %d: %s, which was denied before and is after", p.name, n, what)
		}
	}
}

// phases of a tenant with everything that is written in an order that matters.
func phases(t *testing.T, api *testkit.API, name string) []phase {
	ctx := t.Context()
	key := client.ObjectKey{Name: name}
	tn := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	tn.Spec = v1alpha1.TenantSpec{
		Owners:     []v1alpha1.Owner{{Kind: v1alpha1.OwnerUser, Name: name + "-owner"}, {Kind: v1alpha1.OwnerUser, Name: name + "-gone"}},
		Namespaces: v1alpha1.NamespacesSpec{Declared: []string{name + "-web"}, SelfService: &v1alpha1.SelfService{Limit: 1}},
		Quota:      corev1.ResourceList{"pods": resource.MustParse("0")},
		Limits:     []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": resource.MustParse("10m")}}},
		Syncs:      []v1alpha1.Sync{{Name: "apps", Source: v1alpha1.Source{Git: &v1alpha1.GitSource{URL: "https://git.example.com/" + name}}}},
	}
	get := func() (*v1alpha1.Tenant, error) {
		live := &v1alpha1.Tenant{}
		err := api.Client.Get(ctx, key, live)
		return live, err
	}
	// Nothing fetches here, so a tenant with a sync never gets to be Ready: what counts is
	// that each namespace is there and all that it compiles to was written.
	holds := func(want ...string) func() error {
		return func() error {
			live, err := get()
			if err != nil {
				return err
			}
			active := 0
			for _, ns := range live.Status.Namespaces {
				if ns.State == v1alpha1.NamespaceActive {
					active++
				}
			}
			ready := meta.FindStatusCondition(live.Status.Conditions, v1alpha1.ReadyCondition)
			if live.Status.ObservedGeneration != live.Generation || active != len(want) || ready == nil || ready.ObservedGeneration != live.Generation {
				return fmt.Errorf("%+v", live.Status)
			}
			return compiled(ctx, api, live)
		}
	}
	return []phase{
		{
			"onboarding",
			func() error { return api.Client.Create(ctx, tn) },
			func() error {
				if err := holds(name, name+"-web")(); err != nil {
					return err
				}
				return provisions(ctx, api, name)
			},
			false,
		},
		{
			"adoption",
			func() error {
				return api.AsAccount(t, name, name).Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name + "-x", Labels: map[string]string{v1alpha1.TenantLabel: name}}})
			},
			holds(name, name+"-web", name+"-x"),
			false,
		},
		{
			"change",
			func() error {
				live, err := get()
				if err != nil {
					return err
				}
				live.Spec.Owners = live.Spec.Owners[:1]
				live.Spec.Limits = nil
				live.Spec.Domains = []string{name + ".example.com"}
				return api.Client.Update(ctx, live)
			},
			holds(name, name+"-web", name+"-x"),
			false,
		},
		{
			"off-boarding",
			func() error { return api.Client.Delete(ctx, tn.DeepCopy()) },
			func() error {
				_, err := get()
				if err == nil {
					return errors.New("the Tenant is there")
				}
				return client.IgnoreNotFound(err)
			},
			true,
		},
	}
}

// provisions tells whether the account may make a namespace: what is shared by tenants
// is written apart from them.
func provisions(ctx context.Context, api *testkit.API, name string) error {
	c, err := clientAs(api, "system:serviceaccount:"+name+":"+name)
	if err != nil {
		return err
	}
	return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name + "-probe", Labels: map[string]string{v1alpha1.TenantLabel: name}}}, client.DryRunAll)
}

// saboteur lets a number of writes about a tenant through and then nothing any more, as
// if the controller had died.
type saboteur struct {
	tenant string
	last   int
	after  func()

	mu   sync.Mutex
	n    int
	dead chan struct{}
}

func (s *saboteur) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if s.over() {
			return nil, errors.New("the controller is dead")
		}
		if !s.counts(req) {
			return next.RoundTrip(req)
		}
		// One write at a time. What is open after those before was seen in lives before.
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.n >= s.last {
			return nil, errors.New("the controller is dead")
		}
		res, err := next.RoundTrip(req)
		if err == nil {
			s.n++
			if s.n == s.last {
				if req.Context().Err() == nil { // or it was being stopped anyway
					s.after()
				}
				close(s.dead)
			}
		}
		return res, err
	})
}

func (s *saboteur) over() bool {
	select {
	case <-s.dead:
		return true
	default:
		return false
	}
}

// counts tells writes about the tenant.
func (s *saboteur) counts(req *http.Request) bool {
	at := req.URL.Path
	return req.Method != http.MethodGet && !strings.Contains(at, "/events") && !strings.Contains(at, "/leases/") &&
		(strings.Contains(at+"/", "/"+s.tenant+"/") || strings.Contains(at, "/"+s.tenant+"-") || strings.Contains(at, "provisioner"))
}

func (s *saboteur) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// awaits waits for the controller's death or the end of the phase.
func (s *saboteur) awaits(t *testing.T, p phase) (died bool) {
	t.Helper()
	testkit.Eventually(t, 60*time.Second, p.name, func() error {
		if s.over() {
			return nil
		}
		return p.done()
	})
	return s.over()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// watcher tries what tells who may do what, by dry run.
type watcher struct {
	tenant string
	client *http.Client
	host   string
	tries  map[string]attempt

	mu      sync.Mutex
	allowed map[string]bool
}

type attempt struct{ as, method, at, kind, body string }

func newWatcher(t *testing.T, api *testkit.API, tenant string) *watcher {
	t.Helper()
	c, err := rest.HTTPClientFor(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{tenant: tenant, client: c, host: api.Config.Host, tries: map[string]attempt{}, allowed: map[string]bool{}}
	account, owner, gone := "system:serviceaccount:"+tenant+":"+tenant, tenant+"-owner", tenant+"-gone"
	post := func(who, what, namespace, resource, body string) {
		w.tries[fmt.Sprintf("%s makes %s in %s", who, what, namespace)] = attempt{who, http.MethodPost, "/api/v1/namespaces/" + namespace + "/" + resource, "application/json", body}
	}
	const (
		config     = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`
		privileged = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a","image":"a","securityContext":{"privileged":true}}]}}`
		harmless   = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"a","image":"a","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}`
		nodePort   = `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`
		binding    = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"x"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"all"}]}`
	)
	for _, ns := range []string{tenant, tenant + "-web", tenant + "-x"} {
		for _, who := range []string{account, owner} {
			post(who, "a privileged Pod", ns, "pods", privileged)
			post(who, "a Pod past the quota", ns, "pods", harmless)
			post(who, "a Service on every node", ns, "services", nodePort)
			w.tries[who+" binds cluster-admin in "+ns] = attempt{who, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/namespaces/" + ns + "/rolebindings", "application/json", binding}
			w.tries[who+" lowers the level of "+ns] = attempt{who, http.MethodPatch, "/api/v1/namespaces/" + ns, "application/merge-patch+json", `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`}
			w.tries[who+" frees "+ns] = attempt{who, http.MethodPatch, "/api/v1/namespaces/" + ns, "application/merge-patch+json", `{"metadata":{"labels":{"tenantry.dev/tenant":null}}}`}
			post(who, "a ConfigMap", ns, "configmaps", config)
		}
		for _, who := range []string{gone, "stranger", "system:serviceaccount:other:other", "system:serviceaccount:" + ns + ":default"} {
			post(who, "a ConfigMap", ns, "configmaps", config)
		}
	}
	for _, ns := range []string{"default", "kube-system", "tenantry-system"} {
		post(account, "a ConfigMap", ns, "configmaps", config)
	}
	w.tries[w.pruning()] = attempt{account, http.MethodDelete, "/api/v1/namespaces/" + tenant, "application/json", ""}
	return w
}

// pruning is what a tenant that is being off-boarded is let do for a while, on purpose.
func (w *watcher) pruning() string { return "the account deletes the home namespace" }

// picture tries everything once.
func (w *watcher) picture() map[string]bool {
	var mu sync.Mutex
	allowed := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(8)
	for what, a := range w.tries {
		group.Go(func() error {
			if w.lets(a) {
				mu.Lock()
				defer mu.Unlock()
				allowed[what] = true
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
	return allowed
}

func (w *watcher) lets(a attempt) bool {
	req, err := http.NewRequest(a.method, w.host+a.at+"?dryRun=All", bytes.NewBufferString(a.body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", a.kind)
	req.Header.Set("Impersonate-User", a.as)
	res, err := w.client.Do(req)
	if err != nil {
		return false // no answer is no access
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode < http.StatusMultipleChoices
}

// look tries everything and remembers what was let through.
func (w *watcher) look() {
	now := w.picture()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(w.allowed, now)
}

func (w *watcher) seen() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.allowed)
}

func (w *watcher) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.allowed)
}

// settled tries everything until it stays the same: the authorizer learns of bindings by
// a watch.
func (w *watcher) settled(t *testing.T) map[string]bool {
	t.Helper()
	last := w.picture()
	testkit.Eventually(t, 20*time.Second, "access settles", func() error {
		now := w.picture()
		same := maps.Equal(now, last)
		last = now
		if !same {
			return errors.New("it changes")
		}
		return nil
	})
	return last
}
