// SPDX-License-Identifier: Apache-2.0

package world

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"time"

	"github.com/gliderlabs/ssh"
	gossh "golang.org/x/crypto/ssh"
)

func newHostKey() (gossh.Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return gossh.NewSignerFromKey(key)
}

// KnownHosts is the line by which a client knows this world's key as that of a host.
func (w *World) KnownHosts(host string) string {
	return host + " " + strings.TrimSpace(string(gossh.MarshalAuthorizedKey(w.hostKey.PublicKey())))
}

// hasHost tells whether anything of a host is served.
func (w *World) hasHost(host string) bool {
	for _, r := range w.repos {
		if r.host == host {
			return true
		}
	}
	return w.tape.hasHost(host)
}

// serveSSH speaks as a host's SSH server that knows everybody and gives repositories.
func (w *World) serveSSH(conn net.Conn, host string) {
	server := &ssh.Server{
		Handler:          func(s ssh.Session) { w.session(s, host) },
		HostSigners:      []ssh.Signer{w.hostKey},
		PublicKeyHandler: func(ssh.Context, ssh.PublicKey) bool { return true },
		PasswordHandler:  func(ssh.Context, string) bool { return true },
		ChannelHandlers:  map[string]ssh.ChannelHandler{"session": ssh.DefaultSessionHandler},
		IdleTimeout:      time.Minute,
	}
	server.HandleConn(conn)
}

func (w *World) session(s ssh.Session, host string) {
	command := s.Command()
	fail := func(message string) {
		_, _ = fmt.Fprintln(s.Stderr(), message) // the client may be gone
		_ = s.Exit(1)
	}
	if len(command) != 2 || command[0] != "git-upload-pack" {
		fail("only repositories are served here, to be read")
		return
	}
	bare := w.bare(host, command[1])
	if bare == "" {
		w.missed("ssh://" + host + "/" + strings.Trim(command[1], "/"))
		fail(command[1] + " is not served here: map a directory to it")
		return
	}
	cmd := exec.CommandContext(s.Context(), "git", "upload-pack", "--strict", bare)
	cmd.Env = append(gitEnv(), "GIT_PROTOCOL="+protocolOf(s.Environ()))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s, s, s.Stderr()
	cmd.WaitDelay = time.Second // what the client still sends is not waited for
	if err := cmd.Run(); err != nil && s.Context().Err() == nil {
		w.log.Printf("git upload-pack for ssh://%s%s: %v", host, command[1], err)
		_ = s.Exit(1)
		return
	}
	_ = s.Exit(0)
}

// bare is the repository that a host and a path name, mapped or recorded.
func (w *World) bare(host, path string) string {
	if repo, rest := w.find(host, path); repo != nil && rest == "" {
		return repo.bare
	}
	return w.tape.repository(host, repoPath(path))
}

func protocolOf(env []string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "GIT_PROTOCOL="); ok {
			return v
		}
	}
	return ""
}
