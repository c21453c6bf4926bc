// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package local

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent puts a child into its own group, so that Ctrl-C reaches us alone
// and we stop things in order. Only Linux can tie its life to ours; elsewhere the
// next start cleans up.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// startTime is when a process started, or "" when there is none.
func startTime(pid int) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
