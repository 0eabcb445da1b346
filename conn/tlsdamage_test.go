package conn_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A handshake that is cut short, after whichever byte, ends its connection with an error
// that says so, and leaves nothing behind.
func TestHandshakesThatAreCutShortEnd(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, version := range tlsVersions {
			t.Run(name, func(t *testing.T) {
				var opened atomic.Int32
				closed, onClose := ends(1)
				f := covered(t, backend, 2, s.server, funcs{open: func(*conn.Conn) error { opened.Add(1); return nil }, close: onClose})
				for cut := 1; opened.Load() == 0; cut += 13 {
					raw := f.dial().(*net.TCPConn)
					c := tls.Client(&fuse{Conn: raw, left: cut, blown: func() { _ = raw.CloseWrite() }}, s.version(version))
					_ = c.Handshake()
					_ = raw.CloseWrite()
					require.ErrorIs(t, conntest.Receive(t, closed), io.ErrUnexpectedEOF, "after %d bytes", cut)
					require.NoError(t, raw.Close())
				}
				conntest.Eventually(t, func() bool { return f.Len() == 0 })
			})
		}
	})
}

// A fuse lets so many bytes through, and then blows.
type fuse struct {
	net.Conn
	left  int
	blown func()
}

func (f *fuse) Write(p []byte) (int, error) {
	if len(p) <= f.left {
		f.left -= len(p)
		return f.Conn.Write(p)
	}
	n, _ := f.Conn.Write(p[:f.left])
	f.left = 0
	f.blown()
	return n, io.ErrClosedPipe
}

// A record with a wrong bit ends its connection, and the peer is told why. The bytes before it have
// been read.
func TestDamagedRecordsEndTheirConnectionAndNoOther(t *testing.T) {
	s := newSecret(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for name, version := range tlsVersions {
			t.Run(name, func(t *testing.T) {
				closed, onClose := ends(10)
				f := covered(t, backend, workers, s.server, funcs{data: echo, close: onClose})
				live := f.dialTLS(s.client)
				d := &damager{Conn: f.dial()}
				c := tls.Client(d, s.version(version))
				write(t, c, "whole")
				require.Equal(t, "whole", string(read(t, c, 5)))
				d.damage = true
				write(t, c, "damaged")
				_, err := c.Read(make([]byte, 1))
				require.ErrorContains(t, err, "remote error: tls: bad record MAC")
				require.NoError(t, d.Close())
				require.ErrorContains(t, conntest.Receive(t, closed), "bad record MAC")
				write(t, live, "still there")
				require.Equal(t, "still there", string(read(t, live, 11)))
			})
		}
	})
}

type damager struct {
	net.Conn
	damage bool
}

func (d *damager) Write(p []byte) (int, error) {
	if d.damage {
		p = append([]byte(nil), p...)
		p[len(p)-1] ^= 1
	}
	return d.Conn.Write(p)
}

// The same truncation is one for those that dial.
func TestServersThatCutTheirStreamShortAreUnexpectedEnds(t *testing.T) {
	s := newSecret(t)
	ln := conntest.Listen(t)
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers, func(c *conn.Config) { c.LingerTimeout = 200 * time.Millisecond })
		ended := make(chan error, 1)
		handlers := map[string]conn.Handler{
			"callbacks": funcs{data: func(c *conn.Conn) error { _, err := c.Discard(-1); return err }, close: func(_ *conn.Conn, err error) { ended <- err }},
			"sequential": conn.Sequential(func(_ *sched.Context, c *conn.Stream) error {
				n, err := io.Copy(io.Discard, c)
				ended <- fmt.Errorf("after %d bytes: %w", n, err)
				return err
			}),
		}
		for name, h := range handlers {
			t.Run(name, func(t *testing.T) {
				_, err := f.Dial(ln.Addr(), conn.ConnectTLS(conn.TLSConfig{Config: s.client}, h))
				require.NoError(t, err)
				raw, err := ln.Accept()
				require.NoError(t, err)
				defer raw.Close()
				write(t, tls.Server(raw, s.server.Config), "some")
				require.NoError(t, raw.(*net.TCPConn).CloseWrite())
				require.ErrorIs(t, conntest.Receive(t, ended), io.ErrUnexpectedEOF)
			})
		}
	})
}
