// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent puts a child into its own group, so that Ctrl-C reaches us alone
// and we stop things in order, and has the kernel end it when we are killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startTime is when a process started, in the kernel's ticks, or "" when there is none.
func startTime(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// Fields are counted after the name, which is in parentheses and may hold anything.
	_, after, ok := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
