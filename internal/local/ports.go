// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"net"
)

// freePorts asks the kernel for n ports that nobody listens on. Another program
// may take one before ours does; that one then dies with the reason in its log.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port on 127.0.0.1: %w", err)
		}
		// Held until all are found, so that none comes twice.
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
