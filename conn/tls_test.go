package conn_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A secret is a server's certificate, and what its clients need.
type secret struct {
	server conn.TLSConfig
	client *tls.Config
	pool   *x509.CertPool
}

func newSecret(t testing.TB) *secret {
	t.Helper()
	cert, pool := conntest.Certificate(t)
	return &secret{
		server: conn.TLSConfig{Config: &tls.Config{Certificates: []tls.Certificate{cert}}, Timeout: conntest.Patience},
		client: &tls.Config{RootCAs: pool, ServerName: "localhost"},
		pool:   pool,
	}
}

// version is the client's configuration for one version.
func (s *secret) version(v uint16) *tls.Config {
	cfg := s.client.Clone()
	cfg.MinVersion, cfg.MaxVersion = v, v
	return cfg
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// dialTLS is a client of the fixture that has shaken hands.
func (f *fixture) dialTLS(cfg *tls.Config) *tls.Conn {
	f.t.Helper()
	c := tls.Client(f.dial(), cfg)
	if err := c.Handshake(); err != nil {
		f.t.Fatalf("handshake: %v\n%s", err, conntest.Dump())
	}
	return c
}

// eofEcho echoes until the peer's end.
func eofEcho() funcs {
	return funcs{data: echo, eof: func(c *conn.Conn) error { return c.Close() }}
}

// eachKind runs f with an echo as either kind of handler.
func eachKind(t *testing.T, f func(t *testing.T, backend string, workers int, h conn.Handler)) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		t.Run("callbacks", func(t *testing.T) { f(t, backend, workers, eofEcho()) })
		t.Run("sequential", func(t *testing.T) { f(t, backend, workers, conn.Sequential(echoStream)) })
	})
}

// covered is a fixture that listens with TLS.
func covered(t *testing.T, backend string, workers int, cfg conn.TLSConfig, h conn.Handler, configure ...func(*conn.Config)) *fixture {
	t.Helper()
	short := func(c *conn.Config) { c.LingerTimeout = 200 * time.Millisecond } // for clients that leave it to the test's end
	f := newFixture(t, backend, workers, append([]func(*conn.Config){short}, configure...)...)
	f.listenTLS(cfg, h)
	return f
}

// patient is for clients that end by themselves, however long the processors keep them waiting.
func patient(c *conn.Config) { c.LingerTimeout = conntest.Patience }

func (f *fixture) listenTLS(cfg conn.TLSConfig, h conn.Handler) {
	f.t.Helper()
	f.listenTo(conn.ServeTLS(cfg, f.plain(h)))
}

// plain is the handler, audited if it is one of callbacks: a stream has no OnClose.
func (f *fixture) plain(h conn.Handler) conn.Handler {
	if _, ok := h.(funcs); ok {
		return f.audit.of(h)
	}
	return h
}

// exchangeTLS sends n bytes, ends, and compares the bytes that come back until close-notify.
func exchangeTLS(c *tls.Conn, n int, seed uint64) error {
	sent := make(chan error, 1)
	sum := sha256.New()
	go func() {
		r := rand.New(rand.NewPCG(seed, 1))
		for left := n; left > 0; {
			p := piece(r, min(left, 1+r.IntN(128<<10)))
			sum.Write(p)
			if _, err := c.Write(p); err != nil {
				sent <- err
				return
			}
			left -= len(p)
		}
		sent <- c.CloseWrite()
	}()
	got := sha256.New()
	m, err := io.Copy(got, c)
	if err != nil || int(m) != n {
		return fmt.Errorf("%d of %d bytes came back: %v", m, n, err)
	}
	if err := <-sent; err != nil {
		return err
	}
	if string(sum.Sum(nil)) != string(got.Sum(nil)) {
		return errors.New("what came back is not what was sent")
	}
	return nil
}

// handshakes has n clients of each version shake hands at once and exchange a little.
func handshakes(t *testing.T, n int) {
	s := newSecret(t)
	eachKind(t, func(t *testing.T, backend string, workers int, h conn.Handler) {
		if workers != 2 && n > 500 {
			t.Skip("2 workers are enough of this")
		}
		for name, version := range tlsVersions {
			t.Run(name, func(t *testing.T) {
				f := covered(t, backend, workers, s.server, h, patient)
				conntest.Each(t, n, func(i int) error {
					raw, err := dial(f.addr)
					if err != nil {
						return err
					}
					c := tls.Client(raw, s.version(version))
					defer c.Close()
					if err := c.Handshake(); err != nil {
						return fmt.Errorf("handshake: %w", err)
					}
					if v := c.ConnectionState().Version; v != version {
						return fmt.Errorf("version %x", v)
					}
					return exchangeTLS(c, 1+i*37, uint64(i))
				})
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}

func TestTwoHundredHandshakesAtOnceOfEitherVersion(t *testing.T) { handshakes(t, 200) }

// transfers sends n bytes each way.
func transfers(t *testing.T, n int) {
	s := newSecret(t)
	eachKind(t, func(t *testing.T, backend string, workers int, h conn.Handler) {
		if workers == 4 && n > 10<<20 {
			t.Skip("1 and 2 workers are enough of this")
		}
		for name, version := range tlsVersions {
			t.Run(name, func(t *testing.T) {
				f := covered(t, backend, workers, s.server, h, patient)
				c := f.dialTLS(s.version(version))
				require.NoError(t, exchangeTLS(c, n, 1))
				_ = c.Close()
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}

func TestTenMegabytesGoEachWayThroughTLS(t *testing.T) { transfers(t, 10<<20) }

// The state is there from OnOpen on, and for streams.
func TestHandlersKnowTheStateOfTheirTLS(t *testing.T) {
	s := newSecret(t)
	cfg := s.server
	cfg.Config = cfg.Config.Clone()
	cfg.Config.NextProtos = []string{"two", "one"}
	client := s.client.Clone()
	client.NextProtos = []string{"one", "three"}
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		for _, h := range []conn.Handler{
			funcs{open: func(c *conn.Conn) error {
				_, err := fmt.Fprintf(c, "%s for %s", c.TLS().NegotiatedProtocol, c.TLS().ServerName)
				return errors.Join(err, c.CloseWrite())
			}},
			conn.Sequential(func(_ *sched.Context, c *conn.Stream) error {
				_, err := fmt.Fprintf(c, "%s for %s", c.TLS().NegotiatedProtocol, c.TLS().ServerName)
				return err
			}),
		} {
			f.listenTLS(cfg, h)
			c := f.dialTLS(client)
			p, err := io.ReadAll(c)
			require.NoError(t, err, "it ends with close-notify")
			require.Equal(t, "one for localhost", string(p))
			require.NoError(t, c.Close())
		}
		f.listen("tcp", "127.0.0.1:0", funcs{open: func(c *conn.Conn) error {
			require.Nil(t, c.TLS())
			return c.Close()
		}})
		require.Empty(t, readEOF(t, f.dial()))
	})
}

// The bytes written in one run are one record, however many calls wrote them.
func TestAnswersWrittenInOneRunBecomeOneRecord(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := covered(t, backend, 1, s.server, funcs{data: func(c *conn.Conn) error {
			p, _ := c.Next(-1)
			for i := range p {
				if _, err := c.Write(p[i : i+1]); err != nil {
					return err
				}
			}
			return nil
		}})
		raw := f.dial()
		watch := &records{Conn: raw}
		c := tls.Client(watch, s.version(tls.VersionTLS13))
		require.NoError(t, c.Handshake())
		write(t, c, "x")
		read(t, c, 1) // the bytes that came with the handshake have arrived
		before := watch.count()
		write(t, c, string(noise[:1000]))
		require.Equal(t, noise[:1000], read(t, c, 1000))
		require.Equal(t, 1, watch.count()-before, "records")
	})
}

// records counts the records that are read.
type records struct {
	net.Conn
	in []byte
}

func (r *records) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.in = append(r.in, p[:n]...)
	return n, err
}

func (r *records) count() (n int) {
	for p := r.in; len(p) >= 5; n++ {
		size := 5 + int(p[3])<<8 + int(p[4])
		p = p[min(size, len(p)):]
	}
	return n
}
