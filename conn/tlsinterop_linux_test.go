package conn_test

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// program is the path of a program, without which the test is skipped.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// file is the server's certificate as a file.
func (s *secret) file(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	p := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Config.Certificates[0].Certificate[0]})
	require.NoError(t, os.WriteFile(name, p, 0o600))
	return name
}

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"

func TestCurlUnderstandsTheServer(t *testing.T) {
	curl := program(t, "curl")
	s := newSecret(t)
	ca := s.file(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		asked := func(p string) bool { return strings.HasSuffix(p, "\r\n\r\n") }
		closed, onClose := ends(10)
		for _, h := range []conn.Handler{
			funcs{close: onClose, data: func(c *conn.Conn) error {
				if p, _ := c.Peek(-1); !asked(string(p)) {
					return nil
				}
				_, err := c.WriteString(answer)
				return errors.Join(err, c.Close())
			}},
			conn.Sequential(func(_ *sched.Context, c *conn.Stream) (err error) {
				defer func() { closed <- err }()
				buf := make([]byte, 4096)
				for n := 0; ; {
					m, err := c.Read(buf[n:])
					if err != nil {
						return err
					}
					if n += m; asked(string(buf[:n])) {
						_, err = c.Write([]byte(answer))
						return err
					}
				}
			}),
		} {
			f := covered(t, backend, 2, s.server, h)
			_, port, _ := net.SplitHostPort(f.addr.String())
			for _, version := range []string{"1.2", "1.3"} {
				out, err := exec.Command(curl, "--silent", "--show-error", "--fail", "--noproxy", "*", "--max-time", "60", "--cacert", ca,
					"--tlsv"+version, "--tls-max", version, "--resolve", "localhost:"+port+":127.0.0.1", "https://localhost:"+port+"/").CombinedOutput()
				require.NoError(t, err, string(out))
				require.Equal(t, "hello", string(out))
				require.NoError(t, conntest.Receive(t, closed))
			}
		}
	})
}

// A session is one of openssl s_client.
type session struct {
	in  io.WriteCloser
	cmd *exec.Cmd

	mu  sync.Mutex
	out bytes.Buffer
}

func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *session) said(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.out.String(), text)
}

func (s *session) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// openssl talks to the fixture.
func (f *fixture) openssl(ca string, args ...string) *session {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), program(f.t, "openssl"), append([]string{"s_client", "-connect", f.addr.String(),
		"-servername", "localhost", "-CAfile", ca, "-verify_return_error"}, args...)...)
	s := &session{cmd: cmd}
	var err error
	s.in, err = cmd.StdinPipe()
	require.NoError(f.t, err)
	cmd.Stdout, cmd.Stderr = s, s
	require.NoError(f.t, cmd.Start())
	f.t.Cleanup(func() {
		_ = s.in.Close()
		_ = cmd.Wait()
	})
	conntest.Eventually(f.t, func() bool { return s.said("Verify return code: 0 (ok)") || s.said("verify return:1") && s.said("---") }, s)
	return s
}

func (s *session) say(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(s.in, line+"\n")
	require.NoError(t, err)
}

// capitals answers in capitals, so that nobody takes an echo of the terminal's for it.
func capitals(c *conn.Conn) error {
	p, _ := c.Next(-1)
	_, err := c.Write(bytes.ToUpper(p))
	return err
}

func TestOpenSSLUnderstandsTheServer(t *testing.T) {
	program(t, "openssl")
	s := newSecret(t)
	ca := s.file(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		for _, version := range []string{"-tls1_2", "-tls1_3"} {
			t.Run(version, func(t *testing.T) {
				closed, onClose := ends(1)
				f := covered(t, backend, 2, s.server, funcs{data: capitals, close: onClose})
				o := f.openssl(ca, version)
				if version == "-tls1_3" { // new keys, of both directions
					o.say(t, "K")
					conntest.Eventually(t, func() bool { return o.said("KEYUPDATE") }, o)
				}
				o.say(t, "hello")
				conntest.Eventually(t, func() bool { return o.said("HELLO") }, o)
				o.say(t, "Q") // with close-notify
				require.NoError(t, conntest.Receive(t, closed))
			})
		}
	})
}

func TestRenegotiationIsRefused(t *testing.T) {
	program(t, "openssl")
	s := newSecret(t)
	ca := s.file(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, onClose := ends(2)
		f := covered(t, backend, 2, s.server, funcs{data: capitals, close: onClose})
		live := f.dialTLS(s.client)
		o := f.openssl(ca, "-tls1_2")
		o.say(t, "hello")
		conntest.Eventually(t, func() bool { return o.said("HELLO") }, o)
		o.say(t, "R")
		conntest.Eventually(t, func() bool { return o.said("RENEGOTIATING") }, o)
		require.ErrorContains(t, conntest.Receive(t, closed), "tls: received unexpected handshake message")
		write(t, live, "x")
		require.Equal(t, "X", string(read(t, live, 1)))
	})
}

// A handshake that computes for ever keeps neither a connection from being served by the
// only worker nor another handshake from being done.
func TestHandshakesThatComputeForLongDoNotStallOthers(t *testing.T) {
	s := newSecret(t)
	cfg := s.server
	cfg.Config = cfg.Config.Clone()
	var done sync.WaitGroup
	var stop atomic.Bool
	cfg.Config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		if h.ServerName != "slow" {
			return nil, nil
		}
		for !stop.Load() { // as one with a huge key does
		}
		return nil, errors.New("enough")
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		stop.Store(false)
		f := covered(t, backend, 1, cfg, funcs{data: capitals})
		live := f.dialTLS(s.client)
		slow := s.client.Clone()
		slow.ServerName = "slow"
		raw := f.dial()
		done.Go(func() { _ = tls.Client(raw, slow).Handshake() })
		for range 20 {
			write(t, live, "x")
			require.Equal(t, "X", string(read(t, live, 1)))
		}
		late := f.dialTLS(s.client)
		write(t, late, "x")
		read(t, late, 1)
		stop.Store(true)
		done.Wait()
	})
}
