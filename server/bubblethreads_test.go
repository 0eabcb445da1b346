package server_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/blocking"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// dialByName dials both networks by a name, with contexts that end and with such that do not.
func dialByName(t *testing.T, d *server.Dialer, port string) {
	for _, network := range []string{"tcp", "udp"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for _, ctx := range []context.Context{t.Context(), ctx} {
			c, err := d.DialContext(ctx, network, net.JoinHostPort("localhost", port))
			require.NoError(t, err, network)
			require.NoError(t, c.Close())
		}
		cancel()
	}
}

// A pool of threads that was made outside bubbles resolves names for Dialers in several bubbles and
// outside.
func TestThreadsOfOutsideResolveNamesInBubbles(t *testing.T) {
	threads := blocking.New(blocking.Config{MaxThreads: 2, KeepAlive: time.Hour})
	defer func() { require.NoError(t, threads.Shutdown(context.Background())) }()
	ln, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.NoError(t, err)
	d := &server.Dialer{Threads: threads}
	for range 3 {
		dialByName(t, d, port)
		synctest.Test(t, func(t *testing.T) { dialByName(t, d, port) })
	}
}

// A bubble's own pool resolves names for a Dialer whose workers are in the bubble too.
func TestThreadsOfABubbleResolveNames(t *testing.T) {
	names := &names{hosts: map[string][]string{"localhost": {"127.0.0.1"}}}
	conntest.Backends(t, func(t *testing.T, backend string) {
		ln := conntest.Listen(t)
		_, port, err := net.SplitHostPort(ln.Addr().String())
		require.NoError(t, err)
		synctest.Test(t, func(t *testing.T) {
			threads := blocking.New(blocking.Config{})
			started := make(chan struct{})
			s := &server.Server{Backend: backend, Addr: "127.0.0.1:0", Handler: echo{},
				Listening: func(net.Addr) { close(started) }}
			served := make(chan error, 1)
			go func() { served <- s.ListenAndServe() }()
			<-started
			dialByName(t, &server.Dialer{Threads: threads, Resolver: names, Group: s.Group}, port)
			require.NoError(t, s.Close())
			require.ErrorIs(t, <-served, server.ErrServerClosed)
			require.NoError(t, threads.Shutdown(t.Context()))
		})
	})
}

// A handler whose worker is in a bubble has names resolved outside, and awaits that.
func TestAHandlerInABubbleDialsByName(t *testing.T) {
	inBubbles(t, func(t *testing.T, s *server.Server) {
		addr, dialed := make(chan net.Addr, 1), make(chan error, 1)
		d := &server.Dialer{Group: s.Group}
		s.Handler = server.Sequential(func(cx *sched.Context, _ *server.Stream) error {
			h, err := d.DialPacket(cx, "udp", "localhost:1", packetEcho{})
			if err == nil {
				h.Close()
			}
			dialed <- err
			return nil
		})
		s.Addr = "127.0.0.1:0"
		s.Listening = func(a net.Addr) { addr <- a }
		served := make(chan error, 1)
		go func() { served <- s.ListenAndServe() }()
		c, err := net.Dial("tcp", (<-addr).String())
		require.NoError(t, err)
		require.NoError(t, <-dialed)
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-served, server.ErrServerClosed)
	})
}
