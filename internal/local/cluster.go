// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/kube"
)

// Options of a local cluster.
type Options struct {
	// Name tells several clusters on one machine apart.
	Name string
	// Fleet is the fleet's directory, Cluster the cluster of it to run, and Bootstrap
	// the directory with that cluster's own Flux objects.
	Fleet, Cluster, Bootstrap string
	// Mappings are the outside URLs that are served from directories.
	Mappings []Mapping
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
	opts   Options
	store  *store
	git    *gitServer
	gitLog io.Closer
	client client.Client
	cancel context.CancelFunc
	done   chan struct{}
}

// Start runs a cluster and applies the fleet's own Flux objects to it. After an
// error nothing is left running.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	store, err := openStore(opts.Name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, store: store, done: make(chan struct{})}
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
		{"install walls", c.installWalls},
		{"start Flux and Tenantry", c.startControllers},
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
	cp, err := startControlPlane(ctx, c.store.dir, c.opts.Helpers, c.sup, ControlPlaneOptions{Controllers: true, Nodes: true})
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

func (c *Cluster) installWalls(ctx context.Context) error {
	if err := installFlux(ctx, c.client, c.opts.Helpers); err != nil {
		return err
	}
	cfg, err := c.Admin()
	if err != nil {
		return err
	}
	return c.opts.Install(ctx, cfg)
}

func (c *Cluster) startControllers(ctx context.Context) error {
	var repos []*gitRepo
	if err := os.MkdirAll(c.path("git"), 0o700); err != nil {
		return err
	}
	for i, m := range c.opts.Mappings {
		r, err := newGitRepo(ctx, m, c.path("git", fmt.Sprintf("%d.git", i)))
		if err != nil {
			return err
		}
		repos = append(repos, r)
	}
	log, err := os.OpenFile(c.sup.logFile("git"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	c.gitLog = log
	if c.git, err = startGitServer(ctx, c.ca, repos, log); err != nil {
		return err
	}
	if err := c.startFlux(c.git); err != nil {
		return err
	}
	kubeconfig, err := c.accountKubeconfig("tenantry-system", "tenantry-controller")
	if err != nil {
		return err
	}
	return c.sup.start(processSpec{
		name: "tenantry-controller", path: c.opts.Controller, grace: 6 * time.Second, env: os.Environ(),
		args: []string{
			"controller", "--kubeconfig=" + kubeconfig, "--leader-elect=false",
			"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0",
		},
	})
}

// bootstrap applies the cluster's own Flux objects, as `flux bootstrap` would have.
func (c *Cluster) bootstrap(ctx context.Context) error {
	k := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()})
	resources, err := k.Run(filesys.MakeFsOnDisk(), c.opts.Bootstrap)
	if err != nil {
		return err
	}
	content, err := resources.AsYaml()
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

// lookAround is how often directories and tenants are looked at for changes.
const lookAround = time.Second

// follow keeps what is served in step with the directories, and the kubeconfigs in
// step with the tenants.
func (c *Cluster) follow(ctx context.Context) {
	defer close(c.done)
	for {
		for _, r := range c.git.repos {
			changed, err := r.snapshot(ctx)
			if err != nil && ctx.Err() == nil {
				c.git.log.Printf("follow %s: %v", r.Dir, err)
			}
			if changed {
				c.fetchNow(ctx, r)
			}
		}
		c.tenantKubeconfigs(ctx)
		c.noteUnmapped()
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookAround):
		}
	}
}

// fetchNow asks Flux to look at a repository at once.
func (c *Cluster) fetchNow(ctx context.Context, r *gitRepo) {
	list := &sourcev1.GitRepositoryList{}
	if err := c.client.List(ctx, list); err != nil {
		c.git.log.Printf("list GitRepositories: %v", err)
		return
	}
	for _, g := range list.Items {
		if repoPath(g.Spec.URL) != repoPath(r.URL) {
			continue
		}
		patch := client.MergeFrom(g.DeepCopy())
		if g.Annotations == nil {
			g.Annotations = map[string]string{}
		}
		g.Annotations["reconcile.fluxcd.io/requestedAt"] = time.Now().Format(time.RFC3339Nano)
		if err := c.client.Patch(ctx, &g, patch); err != nil {
			c.git.log.Printf("ask Flux to fetch %s/%s: %v", g.Namespace, g.Name, err)
		}
	}
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
			c.git.log.Printf("kubeconfig of tenant %s: %v", t.Name, err)
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
	c.git.mu.Lock()
	misses := append([]string{}, c.git.misses...)
	c.git.mu.Unlock()
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
	if c.git != nil {
		c.git.stop()
	}
	if c.gitLog != nil {
		_ = c.gitLog.Close() // nothing of it is read again
	}
	return c.store.close()
}
