package conn_test

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
)

// onSocketGroups runs a test on a group of each backend, and on one whose workers
// share threads with goroutines, as server.Listen has it.
func onSocketGroups(t *testing.T, workers []int, test func(t *testing.T, f *fixture), configure ...func(*conn.Config)) {
	for _, n := range workers {
		t.Run(fmt.Sprintf("%d workers", n), func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				test(t, newFixture(t, backend, n, configure...))
			})
			if !slices.Contains(reactor.Backends(), "epoll") {
				return
			}
			t.Run("unlocked", func(t *testing.T) {
				conntest.Guard(t)
				unlocked := func(cfg *conn.Config) { cfg.Reactor.Unlocked = true }
				test(t, newFixture(t, "epoll", n, append([]func(*conn.Config){unlocked}, configure...)...))
			})
		})
	}
}

// open listens for goroutines until the end of the test.
func (f *fixture) open(network string, cfg conn.SocketListenerConfig) *conn.SocketListener {
	f.t.Helper()
	addr := "127.0.0.1:0"
	switch network {
	case "unix":
		addr = filepath.Join(f.t.TempDir(), "s")
	case "tcp6":
		addr = "[::1]:0"
	}
	ln, err := net.Listen(network, addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = ln.Close() })
	l, err := f.ListenSocket(cfg, ln)
	require.NoError(f.t, err)
	f.addr = l.Addr()
	f.t.Cleanup(func() { _ = l.Close() })
	return l
}

// The tests that package net's own connections have to pass.
func TestSocketPassesWhatNetsConnsDo(t *testing.T) {
	onSocketGroups(t, []int{2}, func(t *testing.T, f *fixture) {
		for _, network := range conntest.Networks(t, "tcp", "unix") {
			l := f.open(network, conn.SocketListenerConfig{})
			addr := l.Addr()
			t.Run(network, func(t *testing.T) {
				nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
					return pair(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), addr) })
				})
			})
			t.Run(network+" with one of package net", func(t *testing.T) {
				nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
					return pair(t, l, func() (net.Conn, error) { return net.Dial(network, addr.String()) })
				})
			})
		}
	})
}

// pair is two ends of a connection through a listener, the accepted one first.
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
