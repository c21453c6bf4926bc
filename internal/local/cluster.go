// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	stdlog "log"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/world"
)

// Options of a local cluster.
type Options struct {
	// Name tells several clusters on one machine apart.
	Name string
	// Fleet is the fleet's directory, Cluster the cluster of it to run, and Bootstrap
	// the directory with that cluster's own Flux objects. Where there is none, the
	// directory of the cluster is synced from Root, a URL that is served.
	Fleet, Cluster, Bootstrap, Root string
	// World says what is served of the outside; where it keeps its files is set here.
	World world.Options
	// Keys decrypt what is encrypted in Git. What none of them opens gets a stand-in.
	Keys Keys
	// FluxArgs are more arguments of Flux's controllers, by their names. Default: full
	// lockdown.
	FluxArgs map[string][]string
	// Helpers are the programs to run.
	Helpers Helpers
	// Controller is the tenantry program.
	Controller string
	// Install puts Tenantry's constant objects onto the cluster.
	Install func(context.Context, *rest.Config) error
	// Progress is told what is being done.
	Progress Progress
}

// Cluster is a local cluster that this process runs.
type Cluster struct {
	*ControlPlane
	opts    Options
	store   *store
	world   *world.World
	stubs   *stubber
	log     *stdlog.Logger
	logFile io.Closer
	client  client.Client
	cancel  context.CancelFunc
	done    chan struct{}

	mu     sync.Mutex
	asides []Aside
	// changed are URLs whose content is another since somebody last asked.
	changed []string
}

// Start runs a cluster and applies the fleet's own Flux objects to it. After an
// error nothing is left running.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	store, err := openStore(opts.Name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, store: store, stubs: &stubber{keys: &opts.Keys}, log: stdlog.New(io.Discard, "", 0), done: make(chan struct{})}
	close(c.done)
	logs := filepath.Join(store.dir, "logs")
	sup, err := newSupervisor(logs, func(p []processRecord) error {
		return store.change(func(s *State) { s.Processes = p })
	})
	if err != nil {
		store.unlock()
		return nil, err
	}
	c.ControlPlane = &ControlPlane{sup: sup}
	defer func() {
		if err != nil {
			_ = c.Stop() // the first error is the one to tell
		}
	}()
	if err := store.change(func(s *State) {
		s.Fleet, s.Cluster, s.Started, s.Logs = opts.Fleet, opts.Cluster, time.Now(), logs
		s.PID, s.Process = os.Getpid(), startTime(os.Getpid())
		s.Kubeconfigs = map[string]string{}
	}); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"start Kubernetes", c.startKubernetes},
		{"start Flux", c.startFluxAndWorld},
		{"install walls", c.installWalls},
		{"start Tenantry", c.startTenantry},
		{"apply clusters/" + opts.Cluster, c.bootstrap},
	} {
		end := opts.Progress.Begin(step.what)
		err := step.do(ctx)
		if err != nil {
			err = c.cause(err)
		}
		end(err)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel, c.done = cancel, make(chan struct{})
	go c.follow(background)
	return c, store.change(func(s *State) { s.Ready = true })
}

// cause prefers the death of a process to what others made of it.
func (c *Cluster) cause(err error) error {
	select {
	case dead := <-c.sup.dead:
		return dead
	case <-time.After(500 * time.Millisecond):
		return err
	}
}

func (c *Cluster) startKubernetes(ctx context.Context) error {
	cp, err := startControlPlane(ctx, c.store.dir, c.opts.Helpers, c.sup, ControlPlaneOptions{Controllers: true, Nodes: true, NoWebhooks: true})
	if err != nil {
		return err
	}
	c.ControlPlane = cp
	cfg, err := cp.Admin()
	if err != nil {
		return err
	}
	if c.client, err = kube.NewClient(kube.Unthrottled(cfg)); err != nil {
		return err
	}
	return c.store.change(func(s *State) { s.Kubeconfigs["admin"] = cp.path("kubeconfig", "admin") })
}

// startFluxAndWorld has Flux run before the walls stand, for it takes a moment: there is
// nothing yet that it could apply.
func (c *Cluster) startFluxAndWorld(ctx context.Context) error {
	if err := installFlux(ctx, c.client, c.opts.Helpers); err != nil {
		return err
	}
	log, err := os.OpenFile(c.sup.logFile("world"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	c.logFile, c.log = log, stdlog.New(log, "", stdlog.LstdFlags)
	o := c.opts.World
	o.Dir, o.Log, o.Filter = c.path("world"), log, c.stubs.filter
	o.Certificate = func(host string) (*tls.Certificate, error) {
		pair, err := c.ca.server("outside-"+host, host)
		if err != nil {
			return nil, err
		}
		return pair.tls()
	}
	if c.world, err = world.Start(ctx, o); err != nil {
		return err
	}
	return c.startFlux(c.world, c.opts.FluxArgs)
}

func (c *Cluster) installWalls(ctx context.Context) error {
	cfg, err := c.Admin()
	if err != nil {
		return err
	}
	return c.opts.Install(ctx, cfg)
}

func (c *Cluster) startTenantry(context.Context) error {
	kubeconfig, err := c.accountKubeconfig("tenantry-system", "tenantry-controller")
	if err != nil {
		return err
	}
	return c.sup.start(processSpec{
		name: "tenantry-controller", path: c.opts.Controller, env: os.Environ(),
		args: []string{
			"controller", "--kubeconfig=" + kubeconfig, "--leader-elect=false",
			"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0",
		},
	})
}

// bootstrap applies the cluster's own Flux objects, as `flux bootstrap` would have.
func (c *Cluster) bootstrap(ctx context.Context) error {
	content, err := c.bootstrapManifests()
	if err != nil {
		return err
	}
	// A client that has seen Flux's kinds.
	cfg, err := c.Admin()
	if err != nil {
		return err
	}
	if c.client, err = kube.NewClient(kube.Unthrottled(cfg)); err != nil {
		return err
	}
	return applyAll(ctx, c.client, content)
}

func (c *Cluster) bootstrapManifests() ([]byte, error) {
	if c.opts.Bootstrap == "" {
		c.note(Aside{
			What: "bootstrap", Object: "clusters/" + c.opts.Cluster + "/flux-system",
			Why: "it is not in the fleet: what `flux bootstrap` would write stands in for it, and Flux runs without the flags that a fleet gives it there",
		})
		return fmt.Appendf(nil, rootManifests, c.opts.Root, c.opts.Cluster), nil
	}
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(filesys.MakeFsOnDisk(), c.opts.Bootstrap)
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}

// rootManifests are what bootstrap writes for a cluster, by the URL of its repository and
// its name.
const rootManifests = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 1m
  url: %[1]s
  ref:
    branch: main
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 10m
  path: ./clusters/%[2]s
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
`

const (
	// lookAround is how often directories are looked at for changes, at the most.
	lookAround = 250 * time.Millisecond
	// tendEvery is how often sources and tenants are, where no directory has changed.
	tendEvery = time.Second
)

// follow keeps what is served in step with the directories, and the kubeconfigs in
// step with the tenants.
func (c *Cluster) follow(ctx context.Context) {
	defer close(c.done)
	var tended time.Time
	for {
		began := time.Now()
		changed := c.world.Refresh(ctx)
		// Large directories are looked at less often.
		const share = 8
		pause := max(lookAround, share*time.Since(began))
		if len(changed) > 0 || time.Since(tended) > tendEvery {
			c.fetch(ctx, changed)
			c.tenantKubeconfigs(ctx)
			c.noteUnmapped()
			tended = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// fetch makes sources ready and has Flux fetch those of URLs that changed.
func (c *Cluster) fetch(ctx context.Context, changed []string) {
	if err := c.tend(ctx, changed); err != nil && ctx.Err() == nil {
		c.log.Printf("tend sources: %v", err) // tried again at the next look
	}
	c.mu.Lock()
	c.changed = append(c.changed, changed...)
	c.mu.Unlock()
}

// AwaitChange waits until something changed in the directories that are served, has Flux
// fetch it and says of which URLs it is.
func (c *Cluster) AwaitChange(ctx context.Context) ([]string, error) {
	for {
		c.mu.Lock()
		changed := c.changed
		c.changed = nil
		c.mu.Unlock()
		if len(changed) > 0 {
			return changed, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-c.sup.dead:
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Misses are the addresses that were asked for and not served.
func (c *Cluster) Misses() []string { return c.world.Misses() }

// Lay serves files beside those of a mapped directory, as a commit would bring them, and
// has Flux fetch them.
func (c *Cluster) Lay(ctx context.Context, url string, files map[string][]byte) error {
	if err := c.world.Lay(ctx, url, files); err != nil {
		return err
	}
	return c.tend(ctx, []string{url})
}

// tenantKubeconfigs writes one kubeconfig for each tenant, as its first owner.
func (c *Cluster) tenantKubeconfigs(ctx context.Context) {
	list := &v1alpha1.TenantList{}
	if err := c.client.List(ctx, list); err != nil {
		return // before the API is served there are none
	}
	for i := range list.Items {
		t := &list.Items[i]
		c.store.mu.Lock()
		_, known := c.store.state.Kubeconfigs["tenant-"+t.Name]
		c.store.mu.Unlock()
		if known {
			continue
		}
		user, groups := identity(t)
		path, err := c.Kubeconfig("tenant-"+t.Name, t.Name, user, groups...)
		if err == nil {
			err = c.store.change(func(s *State) { s.Kubeconfigs["tenant-"+t.Name] = path })
		}
		if err != nil {
			c.log.Printf("kubeconfig of tenant %s: %v", t.Name, err)
		}
	}
}

// identity is who a tenant's kubeconfig speaks for.
func identity(t *v1alpha1.Tenant) (user string, groups []string) {
	for _, o := range t.Spec.Owners {
		switch o.Kind {
		case v1alpha1.OwnerUser:
			return o.Name, nil
		case v1alpha1.OwnerGroup:
			return t.Name + "-member", []string{o.Name}
		}
	}
	return "system:serviceaccount:" + t.Name + ":" + t.Name, []string{"system:serviceaccounts", "system:serviceaccounts:" + t.Name}
}

func (c *Cluster) noteUnmapped() {
	misses := c.world.Misses()
	c.store.mu.Lock()
	known := len(c.store.state.Unmapped)
	c.store.mu.Unlock()
	if len(misses) != known {
		_ = c.store.change(func(s *State) { s.Unmapped = misses }) // told again at the next look
	}
}

// Dead gives the error of the first process that dies.
func (c *Cluster) Dead() <-chan error { return c.sup.dead }

// State is what others find the cluster by.
func (c *Cluster) State() State {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	s := c.store.state
	s.Kubeconfigs = maps.Clone(s.Kubeconfigs)
	return s
}

// Stop ends every process, the last started first, and removes what the run wrote
// except its logs.
func (c *Cluster) Stop() error {
	if c.cancel != nil {
		c.cancel()
	}
	<-c.done
	c.sup.stop()
	if c.world != nil {
		c.world.Stop()
	}
	if c.logFile != nil {
		_ = c.logFile.Close() // nothing of it is read again
	}
	return c.store.close()
}
