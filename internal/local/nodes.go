// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// startNodes runs the scheduler and a node on which Pods become Ready without
// containers being run.
func (cp *ControlPlane) startNodes(ctx context.Context) error {
	scheduler, err := cp.Kubeconfig("kube-scheduler", "", "system:kube-scheduler")
	if err != nil {
		return err
	}
	if err := cp.sup.start(processSpec{
		name: "kube-scheduler", path: cp.helpers.Path("controlplane"), env: os.Environ(),
		args: []string{
			"kube-scheduler", "--kubeconfig=" + scheduler, "--leader-elect=false",
			"--secure-port=0", "--bind-address=127.0.0.1",
		},
	}); err != nil {
		return err
	}
	stages, err := filepath.Glob(filepath.Join(cp.helpers.Dir, "stages", "*.yaml"))
	if err != nil || len(stages) == 0 {
		return fmt.Errorf("no kwok stages in %s: remove that directory and start again", cp.helpers.Dir)
	}
	kubelet, err := cp.Kubeconfig("kwok", "", "tenantry:local-kwok", "system:masters")
	if err != nil {
		return err
	}
	args := []string{"--kubeconfig=" + kubelet, "--manage-all-nodes=true", "--node-lease-duration-seconds=40", "--node-ip=127.0.0.1"}
	for _, s := range stages {
		args = append(args, "--config="+s)
	}
	if err := cp.sup.start(processSpec{
		name: "kwok", path: cp.helpers.Path("kwok"), args: args, env: os.Environ(),
	}); err != nil {
		return err
	}
	return cp.createNode(ctx)
}

func (cp *ControlPlane) createNode(ctx context.Context) error {
	cfg, err := cp.Admin()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("32"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	_, err = client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "local-0",
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels:      map[string]string{corev1.LabelHostname: "local-0", corev1.LabelOSStable: "linux"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}, metav1.CreateOptions{FieldManager: "tenantry-local"})
	if err != nil {
		return fmt.Errorf("create node: %w", err)
	}
	return nil
}
