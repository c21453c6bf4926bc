// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestDispatchNeedsAPart(t *testing.T) {
	for _, args := range [][]string{{"controlplane"}, {"controlplane", "kubelet"}, {"/usr/bin/controlplane", "--help"}} {
		if code := dispatch(args); code != 2 {
			t.Errorf("dispatch(%q) = %d, want 2", args, code)
		}
	}
}

func TestEveryPartIsNamedLikeItsProgram(t *testing.T) {
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		if parts[name] == nil {
			t.Errorf("there is no %s", name)
		}
	}
}
