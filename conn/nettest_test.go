package conn_test

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// openListener is a listener for goroutines on a fresh group.
func openListener(t *testing.T, backend string, workers int, network string, configure ...func(*conn.Config)) (*fixture, *conn.SocketListener) {
	t.Helper()
	f := newFixture(t, backend, workers, configure...)
	return f, f.open(network, conn.SocketListenerConfig{})
}

// open listens for goroutines until the end of the test.
func (f *fixture) open(network string, cfg conn.SocketListenerConfig) *conn.SocketListener {
	f.t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(f.t.TempDir(), "s")
	}
	ln, err := net.Listen(network, addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = ln.Close() })
	l, err := f.OpenListener(cfg, ln)
	require.NoError(f.t, err)
	f.addr = l.Addr()
	f.t.Cleanup(func() { _ = l.Close() })
	return l
}

// What package net's own connections have to pass.
func TestSocketPassesWhatNetsConnsDo(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		for _, network := range []string{"tcp", "unix"} {
			t.Run(network, func(t *testing.T) {
				f, l := openListener(t, backend, workers, network)
				t.Run("accepted and dialled", func(t *testing.T) {
					nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
						return pair(t, l, func() (net.Conn, error) { return f.DialSocket(t.Context(), f.addr) })
					})
				})
				t.Run("accepted, and one of package net", func(t *testing.T) {
					nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
						return pair(t, l, func() (net.Conn, error) { return net.Dial(network, f.addr.String()) })
					})
				})
			})
		}
	})
}

// pair is two ends of a connection through a listener.
func pair(t testing.TB, l net.Listener, dial func() (net.Conn, error)) (c1, c2 net.Conn, stop func(), err error) {
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	if c2, err = dial(); err != nil {
		return nil, nil, nil, err
	}
	c1 = <-accepted
	return c1, c2, func() {
		_ = c1.Close()
		_ = c2.Close()
	}, nil
}
