// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/net/proxy"
)

// What of SOCKS 5 (RFC 1928) a client needs that asks, without a password, for one
// connection by name.
const (
	socksVersion   = 5
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	socksGranted   = 0
	socksForbidden = 2
	socksFailed    = 1
)

// serveSocks takes the connections that are no HTTP: Git over SSH.
func (w *World) serveSocks() {
	for {
		conn, err := w.socks.Accept()
		if err != nil {
			return // Stop
		}
		w.open.Go(func() {
			defer w.track(conn)()
			if err := w.socksConn(conn); err != nil && w.ctx.Err() == nil && !errors.Is(err, io.EOF) {
				w.log.Printf("socks: %v", err)
			}
		})
	}
}

func (w *World) socksConn(conn net.Conn) error {
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	host, port, err := socksTarget(conn)
	if err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	reply := func(code byte) error {
		_, err := conn.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
		return err
	}
	if w.hasHost(host) {
		if err := reply(socksGranted); err != nil {
			return err
		}
		w.serveSSH(conn, host)
		return nil
	}
	if w.outside == nil {
		w.missed("ssh://" + host)
		return reply(socksForbidden)
	}
	return w.tunnel(conn, net.JoinHostPort(host, strconv.Itoa(port)), reply)
}

// tunnel joins a connection to the real place.
func (w *World) tunnel(conn net.Conn, address string, reply func(byte) error) error {
	far, err := proxy.Dial(w.ctx, "tcp", address)
	if err != nil {
		_ = reply(socksFailed)
		return err
	}
	defer w.track(far)()
	if err := reply(socksGranted); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(far, conn)
		_ = far.Close()
	}()
	_, _ = io.Copy(conn, far) // ends when either does
	return nil
}

// socksTarget greets a client and reads where it wants to go.
func socksTarget(conn net.Conn) (host string, port int, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(conn, head); err != nil {
		return "", 0, err
	}
	if head[0] != socksVersion {
		return "", 0, fmt.Errorf("version %d is not spoken", head[0])
	}
	if _, err := io.ReadFull(conn, make([]byte, head[1])); err != nil {
		return "", 0, err
	}
	if _, err := conn.Write([]byte{socksVersion, 0}); err != nil {
		return "", 0, err
	}
	request := make([]byte, 4)
	if _, err := io.ReadFull(conn, request); err != nil {
		return "", 0, err
	}
	if request[1] != socksConnect {
		return "", 0, fmt.Errorf("command %d is not known", request[1])
	}
	var size int
	switch request[3] {
	case socksIPv4:
		size = net.IPv4len
	case socksIPv6:
		size = net.IPv6len
	case socksName:
		length := make([]byte, 1)
		if _, err := io.ReadFull(conn, length); err != nil {
			return "", 0, err
		}
		size = int(length[0])
	default:
		return "", 0, fmt.Errorf("address type %d is not known", request[3])
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return "", 0, err
	}
	host = string(rest[:size])
	if request[3] != socksName {
		host = net.IP(rest[:size]).String()
	}
	return host, int(binary.BigEndian.Uint16(rest[size:])), nil
}
