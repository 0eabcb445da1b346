package conn_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// tlsProxy splices accepted connections with dialed ones. Either or both speak TLS, and the origin
// echoes.
func tlsProxy(t *testing.T, backend string, workers int, s *secret, front, back bool) *fixture {
	t.Helper()
	origin := conntest.Listen(t)
	if back {
		origin = tls.NewListener(origin, s.server.Config)
	}
	conntest.ServeEach(origin, func(_ int, c net.Conn) {
		defer c.Close()
		_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
	})
	return tlsSplice(t, backend, workers, s, origin.Addr(), front, back)
}

// tlsSplice splices accepted connections with those that it dials to an address.
func tlsSplice(t *testing.T, backend string, workers int, s *secret, to net.Addr, front, back bool) *fixture {
	t.Helper()
	f := newFixture(t, backend, workers)
	open := funcs{data: leave, eof: ignore, open: func(a *conn.Conn) error {
		out := f.audit.of(funcs{data: leave, eof: ignore})
		if back {
			out = conn.ConnectTLS(conn.TLSConfig{Config: s.client}, out)
		}
		b, err := a.Dial(to, out)
		if err == nil {
			_, err = conn.Splice(a, b, nil)
		}
		return err
	}}
	if front {
		f.listenTLS(s.server, open)
	} else {
		f.listen("tcp", "127.0.0.1:0", open)
	}
	return f
}

func TestASpliceCarriesPlaintextBetweenConnectionsThatSpeakTLS(t *testing.T) {
	s := newSecret(t)
	for _, way := range []struct{ front, back bool }{{true, false}, {false, true}, {true, true}} {
		t.Run(fmt.Sprintf("accepted %v, dialed %v", way.front, way.back), func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				f := tlsProxy(t, backend, workers, s, way.front, way.back)
				conntest.Each(t, 8, func(i int) error {
					raw, err := dial(f.addr)
					if err != nil {
						return err
					}
					defer raw.Close()
					n := []int{0, 1, 100, 1 << 20}[i%4]
					if way.front {
						c := tls.Client(raw, s.client)
						if err := c.Handshake(); err != nil {
							return err
						}
						return exchangeTLS(c, n, uint64(i))
					}
					return exchangePlain(raw, n)
				})
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		})
	}
}

func TestASpliceWhoseHandshakeFailsEndsWithItsError(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		stranger := newSecret(t)
		origin := covered(t, backend, 1, stranger.server, eofEcho())
		ended := make(chan error, 2)
		closed := func(_ *conn.Conn, err error) { ended <- err }
		f.listen("tcp", "127.0.0.1:0", funcs{data: leave, eof: ignore, close: closed, open: func(a *conn.Conn) error {
			b, err := a.Group().Dial(origin.addr, conn.ConnectTLS(conn.TLSConfig{Config: s.client}, funcs{data: leave, close: closed}))
			if err == nil {
				_, err = conn.Splice(a, b, nil)
			}
			return err
		}})
		if c, err := dial(f.addr); err == nil { // else it was reset before it knew that it was there
			t.Cleanup(func() { _ = c.Close() })
			_, _ = c.Write([]byte("waits for the handshake"))
		}
		var unknown *tls.CertificateVerificationError
		for range 2 {
			if err := conntest.Receive(t, ended); !errors.As(err, &unknown) {
				t.Errorf("%v", err)
			}
		}
	})
}
