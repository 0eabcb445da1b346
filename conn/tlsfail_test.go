package conn_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// neverOpen is a handler whose connections must not come to OnOpen.
func neverOpen(t *testing.T, onClose func(*conn.Conn, error)) funcs {
	return funcs{open: func(*conn.Conn) error { t.Error("OnOpen was called"); return nil }, close: onClose}
}

// A client that does not like the certificate gets its own error, the server the alert,
// and other connections notice nothing.
func TestBadCertificatesEndTheirConnectionAndNoOther(t *testing.T) {
	s, other := newSecret(t), newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		closed, onClose := ends(10)
		f := covered(t, backend, workers, s.server, funcs{data: echo, close: onClose})
		live := f.dialTLS(s.client)
		stranger := s.client.Clone()
		stranger.RootCAs = other.pool
		misnamed := s.client.Clone()
		misnamed.ServerName = "elsewhere"
		for _, cfg := range []*tls.Config{stranger, misnamed} {
			raw := f.dial()
			err := tls.Client(raw, cfg).Handshake()
			var bad *tls.CertificateVerificationError
			require.ErrorAs(t, err, &bad)
			err = conntest.Receive(t, closed)
			requireOpError(t, err, "handshake")
			require.Contains(t, err.Error(), "remote error: tls: bad certificate")
			require.NoError(t, raw.Close()) // before, this could reset what the server has not read
		}
		write(t, live, "still there")
		require.Equal(t, "still there", string(read(t, live, 11)))
		require.Equal(t, 2, f.log.Count("TLS handshake failed"))
	})
}

// The FIN alone is no end: the received data may have been cut short.
func TestTruncatedStreamsAreUnexpectedEnds(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		ended := make(chan error, 1)
		all := make(chan int, 1)
		got := 0
		handlers := map[string]conn.Handler{
			"callbacks": funcs{
				data:  func(c *conn.Conn) error { n, err := c.Discard(-1); got += n; return err },
				eof:   func(*conn.Conn) error { t.Error("OnEOF was called"); return nil },
				close: func(_ *conn.Conn, err error) { all <- got; ended <- err },
			},
			"sequential": conn.Sequential(func(_ *sched.Context, c *conn.Stream) error {
				n, err := io.Copy(io.Discard, c)
				all <- int(n)
				ended <- err
				return err
			}),
		}
		for name, h := range handlers {
			t.Run(name, func(t *testing.T) {
				for _, version := range tlsVersions {
					for _, cut := range []int{0, 7} { // between two records, and within one
						got = 0
						f := covered(t, backend, workers, s.server, h)
						raw := &cutter{Conn: f.dial(), left: -1}
						c := tls.Client(raw, s.version(version))
						write(t, c, noise[:1000])
						if cut > 0 {
							raw.left = cut
							_, _ = c.Write(noise[:1000])
						}
						require.NoError(t, raw.Conn.(*net.TCPConn).CloseWrite())
						require.Equal(t, 1000, conntest.Receive(t, all))
						require.ErrorIs(t, conntest.Receive(t, ended), io.ErrUnexpectedEOF)
					}
				}
			})
		}
	})
}

// A cutter lets through the next left bytes, then nothing; all bytes if left is negative.
type cutter struct {
	net.Conn
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if c.left < 0 {
		return c.Conn.Write(p)
	}
	n := min(c.left, len(p))
	c.left -= n
	_, err := c.Conn.Write(p[:n])
	return len(p), err
}

func TestAHandshakeThatTakesTooLongEnds(t *testing.T) {
	s := newSecret(t)
	cfg := s.server
	cfg.Timeout = 50 * time.Millisecond
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		closed, onClose := ends(3)
		f := covered(t, backend, workers, cfg, neverOpen(t, onClose), patient)
		for _, sent := range []string{"", "\x16\x03", hello(t)} {
			c := f.dial()
			write(t, c, sent)
			_, err := io.Copy(io.Discard, c) // bytes that arrive after Close are dropped
			require.NoError(t, err)
			require.NoError(t, c.Close())
			requireOpError(t, conntest.Receive(t, closed), "handshake", os.ErrDeadlineExceeded)
		}
	})
}

// hello is a ClientHello.
func hello(t *testing.T) string {
	t.Helper()
	a, b := net.Pipe()
	defer b.Close()
	go func() { _ = tls.Client(a, &tls.Config{ServerName: "localhost"}).Handshake() }()
	p := make([]byte, 16<<10)
	n, err := b.Read(p)
	require.NoError(t, err)
	return string(p[:n])
}

// With one handshake at a time, one that computes keeps the others waiting, in the order
// in which they asked; a client that says nothing does not.
func TestHandshakesBeyondTheCapWaitForTheirTurnInOrder(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		order := make(chan string, 10)
		goOn := make(chan bool)
		var begun atomic.Int32
		cfg := s.server
		cfg.MaxHandshakes = 1
		cfg.Config = cfg.Config.Clone()
		cfg.Config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			order <- h.Conn.RemoteAddr().String()
			if begun.Add(1) == 1 {
				<-goOn
			}
			return nil, nil
		}
		closed, onClose := ends(10)
		f := covered(t, backend, workers, cfg, funcs{data: echo, close: onClose})
		silent := f.dial()
		_ = silent
		first := f.dial()
		write(t, first, hello(t))
		require.Equal(t, first.LocalAddr().String(), conntest.Receive(t, order))
		var waiting []net.Conn
		shaken := make(chan error, 5)
		for i := range 5 {
			c := f.dial()
			waiting = append(waiting, c)
			if i == 2 { // this one gives up while it waits
				write(t, c, hello(t))
				conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == i+1 })
				continue
			}
			go func() { shaken <- tls.Client(c, s.client).Handshake() }()
			conntest.Eventually(t, func() bool { return conn.WaitingHandshakes(f.Group) == i+1 })
		}
		require.EqualValues(t, 1, begun.Load())
		require.NoError(t, waiting[2].(*net.TCPConn).SetLinger(0))
		require.NoError(t, waiting[2].Close())
		require.Error(t, conntest.Receive(t, closed))
		close(goOn)
		for i, c := range waiting {
			if i != 2 {
				require.Equal(t, c.LocalAddr().String(), conntest.Receive(t, order))
				require.NoError(t, conntest.Receive(t, shaken))
			}
		}
	})
}

func TestPlaintextIsRefused(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, onClose := ends(1)
		f := covered(t, backend, 2, s.server, neverOpen(t, onClose))
		c := f.dial()
		write(t, c, "GET / HTTP/1.1\r\n\r\n")
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err)
		var no tls.RecordHeaderError
		require.ErrorAs(t, conntest.Receive(t, closed), &no)
	})
}

func TestAClientThatDoesNotTrustTheServerIsTold(t *testing.T) {
	s, other := newSecret(t), newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		served, onServed := ends(1)
		f := covered(t, backend, workers, s.server, neverOpen(t, onServed))
		closed, onClose := ends(1)
		cfg := s.client.Clone()
		cfg.RootCAs = other.pool
		_, err := f.Dial(f.addr, conn.ConnectTLS(conn.TLSConfig{Config: cfg}, f.audit.of(neverOpen(t, onClose))))
		require.NoError(t, err)
		var bad *tls.CertificateVerificationError
		require.ErrorAs(t, conntest.Receive(t, closed), &bad)
		require.ErrorContains(t, conntest.Receive(t, served), "bad certificate")
	})
}

func TestPanicsWhileHandsAreShakenAreThatConnections(t *testing.T) {
	s := newSecret(t)
	cfg := s.server
	cfg.Config = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { panic("no certificate") }}
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, onClose := ends(1)
		f := covered(t, backend, 2, cfg, neverOpen(t, onClose))
		require.Error(t, tls.Client(f.dial(), s.client).Handshake())
		var p *conn.PanicError
		require.ErrorAs(t, conntest.Receive(t, closed), &p)
		require.Equal(t, "no certificate", p.Value)
		require.Equal(t, 1, f.log.Count("TLS handshake panicked"))
	})
}

// The context of a waiting function of the tls.Config ends with the connection.
func TestDrainingEndsHandshakes(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		asked := make(chan bool, 1)
		cfg := conn.TLSConfig{Config: &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			asked <- true
			<-h.Context().Done()
			return nil, h.Context().Err()
		}}}
		closed, onClose := ends(1)
		f := covered(t, backend, workers, cfg, neverOpen(t, onClose))
		shaken := make(chan error, 1)
		go func() { shaken <- tls.Client(f.dial(), s.client).Handshake() }()
		conntest.Receive(t, asked)
		f.Drain()
		require.Error(t, conntest.Receive(t, shaken))
		require.ErrorIs(t, conntest.Receive(t, closed), os.ErrDeadlineExceeded, "it had conn.DrainHandshake to end")
	})
}

func TestSocketsWithinTLSAreRefused(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 2, func(c *conn.Config) { c.LingerTimeout = 200 * time.Millisecond })
		f.listenTLS(s.server, funcs{data: echo})
		socket := conn.NewSocket()
		_, err := f.Dial(f.addr, conn.ConnectTLS(conn.TLSConfig{Config: s.client}, socket.Handler()))
		require.NoError(t, err)
		_, err = socket.Read(make([]byte, 1))
		require.ErrorIs(t, err, errors.ErrUnsupported)
	})
}

// Bytes that were written before are still sent as ciphertext.
func TestTLSWithinTLSIsRefused(t *testing.T) {
	s := newSecret(t)
	cfg := s.server
	within := map[string]func(conn.Handler) conn.Handler{
		"client": func(h conn.Handler) conn.Handler { return conn.ConnectTLS(conn.TLSConfig{Config: s.client}, h) },
		"server": func(h conn.Handler) conn.Handler { return conn.ServeTLS(cfg, h) },
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for side, wrap := range within {
			t.Run(side, func(t *testing.T) {
				closed, onClose := ends(1)
				var f *fixture
				f = covered(t, backend, 2, cfg, funcs{data: func(c *conn.Conn) error {
					_, err := c.WriteString("secret")
					return errors.Join(err, c.PassTo(wrap(f.audit.of(neverOpen(t, onClose)))))
				}})
				c := f.dialTLS(s.client)
				write(t, c, "x")
				got, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Equal(t, "secret", string(got))
				require.NoError(t, c.Close())
				require.ErrorIs(t, conntest.Receive(t, closed), errors.ErrUnsupported)
			})
		}
	})
}
