package conn_test

import (
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

func TestClientCertificatesAreAskedForAndChecked(t *testing.T) {
	s, clients := newSecret(t), newSecret(t)
	cfg := s.server
	cfg.Config = cfg.Config.Clone()
	cfg.Config.ClientAuth, cfg.Config.ClientCAs = tls.RequireAndVerifyClientCert, clients.pool
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, version := range tlsVersions {
			t.Run(name, func(t *testing.T) {
				closed, onClose := ends(2)
				f := covered(t, backend, 2, cfg, funcs{open: func(c *conn.Conn) error {
					_, err := c.WriteString(c.TLS().PeerCertificates[0].Subject.CommonName)
					return errors.Join(err, c.Close())
				}, close: onClose})
				known := s.version(version)
				known.Certificates = clients.server.Config.Certificates
				p, err := io.ReadAll(f.dialTLS(known))
				require.NoError(t, err)
				require.Equal(t, "localhost", string(p))
				require.NoError(t, conntest.Receive(t, closed))

				c := tls.Client(f.dial(), s.version(version)) // without one
				_, err = io.ReadAll(c)                        // with 1.3 the client learns of it by reading
				require.ErrorContains(t, err, "remote error")
				_ = c.Close()
				requireOpError(t, conntest.Receive(t, closed), "handshake")
			})
		}
	})
}

func TestSessionsAreResumed(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for name, version := range tlsVersions {
			t.Run(name, func(t *testing.T) {
				var resumed atomic.Int32
				f := covered(t, backend, workers, s.server, funcs{data: echo, open: func(c *conn.Conn) error {
					if c.TLS().DidResume {
						resumed.Add(1)
					}
					return nil
				}})
				cfg := s.version(version)
				cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1)
				for i := range 3 {
					c := f.dialTLS(cfg)
					write(t, c, "x")
					read(t, c, 1) // with it the ticket has come
					require.Equal(t, i > 0, c.ConnectionState().DidResume)
					require.NoError(t, c.Close())
				}
				require.EqualValues(t, 2, resumed.Load())
			})
		}
	})
}

// The functions of a tls.Config may take their time: no worker waits for them.
func TestTheConfigurationMayDependOnTheServerName(t *testing.T) {
	one, two := newSecret(t), newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		gate := make(chan struct{})
		cfg := conn.TLSConfig{Config: &tls.Config{
			GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
				<-gate // blocks, on a server with one worker
				return &one.server.Config.Certificates[0], nil
			},
			GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				if h.ServerName != "localhost" {
					return nil, nil
				}
				return two.server.Config, nil
			},
		}}
		f := covered(t, backend, 1, cfg, eofEcho())
		slow := tls.Client(f.dial(), func() *tls.Config {
			c := one.client.Clone()
			c.ServerName, c.InsecureSkipVerify = "other", true
			return c
		}())
		shaken := make(chan error, 1)
		go func() { shaken <- slow.Handshake() }()
		quick := f.dialTLS(two.client) // trusts the second certificate alone
		write(t, quick, "x")
		read(t, quick, 1)
		close(gate)
		require.NoError(t, conntest.Receive(t, shaken))
		require.Equal(t, one.server.Config.Certificates[0].Leaf.Raw, slow.ConnectionState().PeerCertificates[0].Raw)
	})
}

// Close-notify is the end, of that direction alone.
func TestCloseNotifyIsTheEndAndWritingGoesOn(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		closed, onClose := ends(1)
		handlers := []conn.Handler{
			funcs{close: onClose, eof: func(c *conn.Conn) error {
				_, err := c.WriteString("and more")
				return errors.Join(err, c.CloseWrite())
			}},
			conn.Sequential(func(_ *sched.Context, c *conn.Stream) (err error) {
				defer func() { closed <- err }()
				if _, err = io.ReadAll(c); err == nil {
					_, err = io.WriteString(c, "and more")
				}
				return err
			}),
		}
		for _, h := range handlers {
			f := covered(t, backend, workers, s.server, h)
			c := f.dialTLS(s.client)
			write(t, c, "something")
			require.NoError(t, c.CloseWrite())
			p, err := io.ReadAll(c)
			require.NoError(t, err, "which is close-notify")
			require.Equal(t, "and more", string(p))
			require.NoError(t, c.Close())
			require.NoError(t, conntest.Receive(t, closed))
		}
	})
}

// Nobody's words leave before there is something to hide them in.
func TestWhatIsSentBeforeTheHandshakeWaitsForIt(t *testing.T) {
	s := newSecret(t)
	ln := conntest.Listen(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		opened := make(chan bool, 1)
		h, err := f.Dial(ln.Addr(), conn.ConnectTLS(conn.TLSConfig{Config: s.client}, funcs{open: func(c *conn.Conn) error {
			opened <- true
			_, err := c.WriteString("first, ")
			return err
		}}))
		require.NoError(t, err)
		require.NoError(t, h.Send([]byte("second, ")))
		require.NoError(t, h.Do(func(c *conn.Conn) { _, _ = c.WriteString("third") }))
		raw, err := ln.Accept()
		require.NoError(t, err)
		defer raw.Close()
		require.NoError(t, raw.SetDeadline(time.Now().Add(conntest.Patience)))
		c := tls.Server(raw, s.server.Config)
		require.Equal(t, "first, second, third", string(read(t, c, 20)))
		require.True(t, conntest.Receive(t, opened))
		require.NoError(t, h.Close())
		require.Empty(t, readEOF(t, c), "close-notify")
		require.NoError(t, c.Close())
	})
}

// A file leaves as ciphertext, in its place.
func TestFilesAreSentThroughTLS(t *testing.T) {
	s := newSecret(t)
	name := t.TempDir() + "/file"
	require.NoError(t, os.WriteFile(name, noise, 0o600))
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := covered(t, backend, workers, s.server, funcs{open: func(c *conn.Conn) error {
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = c.WriteString("before ")
			err = errors.Join(err, c.SendFile(file, 0, -1))
			_, err2 := c.WriteString(" after")
			return errors.Join(err, err2, c.Close())
		}})
		p, err := io.ReadAll(f.dialTLS(s.client))
		require.NoError(t, err)
		require.True(t, "before "+string(noise)+" after" == string(p))
	})
}

// Streams that are dialed speak TLS as those that are accepted.
func TestDialedStreamsSpeakTLS(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := covered(t, backend, workers, s.server, conn.Sequential(echoStream))
		got := make(chan error, 1)
		_, err := f.Dial(f.addr, conn.ConnectTLS(conn.TLSConfig{Config: s.client}, conn.Sequential(func(cx *sched.Context, c *conn.Stream) error {
			err := func() error {
				b := c.Go(func(*sched.Context) error { // a branch may read while another writes
					p, err := io.ReadAll(c)
					if err == nil && string(p) != string(noise) {
						err = errors.New("what came back is not what was sent")
					}
					return err
				})
				if _, err := c.Write(noise); err != nil {
					return err
				}
				if err := c.CloseWrite(); err != nil {
					return err
				}
				return b.Join(cx)
			}()
			got <- err
			return err
		})))
		require.NoError(t, err)
		require.NoError(t, conntest.Receive(t, got))
	})
}

// A key log is what tls.Config has: both ends log the same secrets.
func TestTheKeyLogIsWritten(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		var server, client strings.Builder
		cfg := s.server
		cfg.Config = cfg.Config.Clone()
		cfg.Config.KeyLogWriter = &server
		f := covered(t, backend, 1, cfg, eofEcho())
		c := s.client.Clone()
		c.KeyLogWriter = &client
		peer := f.dialTLS(c)
		write(t, peer, "x")
		read(t, peer, 1)
		require.NotEmpty(t, client.String())
		require.Equal(t, client.String(), server.String())
	})
}
