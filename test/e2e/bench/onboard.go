// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/api/v1alpha1"
	"github.com/tenantry/tenantry/internal/compile"
	"github.com/tenantry/tenantry/internal/kube"
)

const (
	onboardTenants = 200
	manyNamespaces = 100
	// rawWorkers writes raw objects from one client as fast as this API server takes
	// them; more workers are no faster on two cores.
	rawWorkers = 16
	metricsAt  = "127.0.0.1:18099"
)

// sample is a tenant of three namespaces with everything that a tenant usually has.
func sample(prefix string, n int) *v1alpha1.Tenant {
	name := fmt.Sprintf("%s%03d", prefix, n)
	return &v1alpha1.Tenant{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.TenantSpec{
			Owners:     []v1alpha1.Owner{{Kind: v1alpha1.OwnerGroup, Name: name + "-team"}, {Kind: v1alpha1.OwnerUser, Name: name + "-viewer", Role: v1alpha1.RoleView}},
			Namespaces: v1alpha1.NamespacesSpec{Declared: []string{name + "-a", name + "-b"}, SelfService: &v1alpha1.SelfService{Limit: 5}},
			Quota:      corev1.ResourceList{"pods": resource.MustParse("50")},
			Limits:     []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Default: corev1.ResourceList{"cpu": resource.MustParse("100m")}}},
			Syncs:      []v1alpha1.Sync{{Name: "apps", Source: v1alpha1.Source{Git: &v1alpha1.GitSource{URL: "https://git.example.com/" + name + "/apps"}}}},
		},
	}
}

// onboard measures tenants from apply to Ready between two runs of raw writes.
func onboard(ctx context.Context, b *bench) error {
	objects, first, err := raw(ctx, b, "rawone")
	if err != nil {
		return err
	}
	ctl, err := startController(ctx, b)
	if err != nil {
		return err
	}
	defer ctl.stop()
	took, err := ready(ctx, b, onboardTenants)
	if err != nil {
		return err
	}
	usage, err := ctl.usage(ctx)
	if err != nil {
		return err
	}
	many, err := manyInOne(ctx, b)
	if err != nil {
		return err
	}
	after, err := ctl.usage(ctx)
	if err != nil {
		return err
	}
	ctl.stop()
	_, second, err := raw(ctx, b, "rawtwo")
	if err != nil {
		return err
	}
	rawMean := (first + second) / 2
	fmt.Printf("| onboarding %d tenants x 3 namespaces | |\n|---|---|\n", onboardTenants)
	fmt.Printf("| apply to all Ready | %.1f s |\n", took.Seconds())
	fmt.Printf("| objects compiled | %d |\n", objects)
	fmt.Printf("| writes / reads of the controller | %d / %d |\n", usage.writes, usage.reads)
	fmt.Printf("| CPU of the controller | %.1f s |\n", usage.cpu.Seconds())
	fmt.Printf("| peak memory of the controller | %d MB |\n", after.peakMB)
	fmt.Printf("| the same objects raw, one client, before and after | %.1f s, %.1f s |\n", first.Seconds(), second.Seconds())
	fmt.Printf("| speed against raw | %.2f |\n", rawMean.Seconds()/took.Seconds())
	fmt.Printf("| %d namespaces in one tenant, created by it, all usable | %.1f s |\n", manyNamespaces, many.Seconds())
	return nil
}

// raw writes the objects of as many tenants from one client.
func raw(ctx context.Context, b *bench, prefix string) (int, time.Duration, error) {
	plans := make([][]*compile.Object, onboardTenants)
	objects := 0
	for i := range plans {
		plans[i] = compile.Tenant(sample(prefix, i), compile.Facts{}).Objects()
		objects += len(plans[i])
		for _, o := range plans[i] {
			// Without the mark the controller, which runs later, leaves them alone.
			labels := o.GetLabels()
			delete(labels, v1alpha1.ManagedLabel)
			o.SetLabels(labels)
		}
	}
	start := time.Now()
	err := parallel(len(plans), rawWorkers, func(i int) error {
		for _, o := range plans[i] {
			if err := kube.Apply(ctx, b.client, o); err != nil {
				return err
			}
		}
		return nil
	})
	return objects, time.Since(start), err
}

// ready applies tenants and waits until the last is Ready.
func ready(ctx context.Context, b *bench, n int) (time.Duration, error) {
	start := time.Now()
	if err := parallel(n, 4, func(i int) error { return b.client.Create(ctx, sample("t", i)) }); err != nil {
		return 0, err
	}
	for {
		list := &v1alpha1.TenantList{}
		if err := b.client.List(ctx, list); err != nil {
			return 0, err
		}
		done := 0
		for _, t := range list.Items {
			if meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ReadyCondition) {
				done++
			}
		}
		if done == n {
			return time.Since(start), nil
		}
		if time.Since(start) > 5*time.Minute {
			return 0, fmt.Errorf("only %d of %d tenants are Ready", done, n)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// manyInOne has one tenant create many namespaces and waits until all are usable.
func manyInOne(ctx context.Context, b *bench) (time.Duration, error) {
	t := &v1alpha1.Tenant{ObjectMeta: metav1.ObjectMeta{Name: "many"}, Spec: v1alpha1.TenantSpec{
		Owners:     []v1alpha1.Owner{{Kind: v1alpha1.OwnerUser, Name: "many-owner"}},
		Namespaces: v1alpha1.NamespacesSpec{SelfService: &v1alpha1.SelfService{Limit: manyNamespaces}},
	}}
	if err := b.client.Create(ctx, t); err != nil {
		return 0, err
	}
	owner, err := kube.NewClient(kube.As(b.config, "many-owner"))
	if err != nil {
		return 0, err
	}
	name := func(i int) string { return fmt.Sprintf("many-%03d", i) }
	deadline := time.Now().Add(time.Minute)
	for {
		err := owner.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(0)}}, client.DryRunAll)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("the owner may not create namespaces: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	start := time.Now()
	if err := parallel(manyNamespaces, 8, func(i int) error {
		return owner.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name(i)}})
	}); err != nil {
		return 0, err
	}
	err = parallel(manyNamespaces, 4, func(i int) error {
		for {
			err := owner.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name(i), Name: "probe"}}, client.DryRunAll)
			if err == nil {
				return nil
			}
			if time.Since(start) > time.Minute {
				return fmt.Errorf("%s is not usable: %w", name(i), err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	return time.Since(start), err
}

// controllerProcess is the controller as people run it.
type controllerProcess struct{ cmd *exec.Cmd }

func startController(ctx context.Context, b *bench) (*controllerProcess, error) {
	kubeconfig, err := b.plane.Kubeconfig("controller", "", "system:serviceaccount:tenantry-system:tenantry-controller",
		"system:serviceaccounts", "system:serviceaccounts:tenantry-system")
	if err != nil {
		return nil, err
	}
	logFile, err := os.Create(filepath.Join(b.dir, "controller.log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(b.binary, "controller", "--kubeconfig", kubeconfig, "--leader-elect=false",
		"--metrics-bind-address", metricsAt, "--health-probe-bind-address", "0")
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &controllerProcess{cmd}
	for range 200 {
		if _, err = c.usage(ctx); err == nil {
			return c, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.stop()
	return nil, fmt.Errorf("the controller does not serve metrics: %w", err)
}

func (c *controllerProcess) stop() {
	if c.cmd.ProcessState != nil {
		return
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	_ = c.cmd.Wait()
}

type usage struct {
	writes, reads int
	cpu           time.Duration
	peakMB        int
}

// usage reads what the controller says of itself and what the kernel says of it.
func (c *controllerProcess) usage(ctx context.Context) (usage, error) {
	var u usage
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metricsAt+"/metrics", nil)
	if err != nil {
		return u, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return u, err
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !strings.HasPrefix(name, "rest_client_requests_total{") {
			if cpu, ok := strings.CutPrefix(lines.Text(), "process_cpu_seconds_total "); ok {
				seconds, _ := strconv.ParseFloat(cpu, 64)
				u.cpu = time.Duration(seconds * float64(time.Second))
			}
			continue
		}
		if strings.Contains(name, `method="GET"`) {
			u.reads += int(n)
		} else {
			u.writes += int(n)
		}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return u, err
	}
	_, peak, ok := strings.Cut(string(status), "VmHWM:")
	if !ok {
		return u, errors.New("the kernel does not tell of peak memory")
	}
	var kb int
	if _, err := fmt.Sscan(peak, &kb); err != nil {
		return u, err
	}
	u.peakMB = kb / 1024
	return u, nil
}
