package server_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// hurried ends a server in its OnData, and again in OnClose.
type hurried struct {
	server.Base
	end  func() error
	errs chan error
}

func (h *hurried) OnData(c *server.Conn) error {
	h.errs <- h.end()
	return echo{}.OnData(c)
}

func (h *hurried) OnClose(*server.Conn, error) { h.errs <- h.end() }

// The server goes on to serve.
func TestAHandlerMustNotWaitForTheEndOfItsServer(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for call, end := range map[string]func(s *server.Server) error{
			"Close":    (*server.Server).Close,
			"Shutdown": func(s *server.Server) error { return s.Shutdown(context.Background()) },
		} {
			t.Run(fmt.Sprintf("%s, shared %v", call, shared), func(t *testing.T) {
				conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
					h := &hurried{errs: make(chan error, 100)}
					var r *running
					if shared {
						r = runOn(t, sharedGroup(t, backend, workers), &server.Server{Handler: h})
					} else {
						r = run(t, &server.Server{Handler: h, Backend: backend, Workers: workers})
					}
					h.end = func() error { return end(r.Server) }
					for range 2 {
						c := r.dial()
						roundTrip(t, c, "ping")
						require.NoError(t, c.Close())
						for range 2 {
							err := conntest.Receive(t, h.errs)
							require.ErrorIs(t, err, sched.ErrBlocksWorker)
							require.ErrorContains(t, err, "server.Server."+call+" on worker ")
							require.ErrorContains(t, err, "another goroutine")
						}
					}
					require.False(t, r.Stopping())
				})
			})
		}
	}
}

func TestAHandlerEndsAnotherServer(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		other := run(t, &server.Server{Handler: echo{}, Backend: backend, Workers: workers})
		h := &hurried{errs: make(chan error, 100), end: other.Close}
		r := run(t, &server.Server{Handler: h, Backend: backend, Workers: workers})
		c := r.dial()
		roundTrip(t, c, "ping")
		require.NoError(t, conntest.Receive(t, h.errs))
		require.NoError(t, c.Close())
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, h.errs), "a second call does not wait")
	})
}

func TestAHandlerMustNotWaitForAPoolsConnections(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{})
		handle, _ := p.get(newTold())
		errs := make(chan error, 1)
		require.NoError(t, handle.Do(func(*conn.Conn) { errs <- p.Shutdown(context.Background()) }))
		err := conntest.Receive(t, errs)
		require.ErrorIs(t, err, sched.ErrBlocksWorker)
		require.ErrorContains(t, err, "server.Pool.Shutdown on worker ")
		require.NoError(t, handle.Close())
		require.NoError(t, p.Shutdown(t.Context()))
	})
}

// A dial that would block its worker does not begin: the peer sees no connection.
func TestADialThatIsRefusedDoesNotBegin(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{})
		handle, _ := p.get(newTold())
		peer, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer peer.Close()
		addr := peer.Addr().String()
		for call, dial := range map[string]func(ctx context.Context) error{
			"Dialer.DialStream":  func(ctx context.Context) error { _, err := p.client.DialStream(ctx, "tcp", addr); return err },
			"Dialer.DialHandler": func(ctx context.Context) error { _, err := p.client.DialHandler(ctx, "tcp", addr, echo{}); return err },
			"Pool.Get":           func(ctx context.Context) error { _, err := p.Get(ctx, "tcp", addr, newTold()); return err },
			"Pool.GetStream":     func(ctx context.Context) error { _, err := p.GetStream(ctx, "tcp", addr); return err },
		} {
			for range 10 { // one that began might connect at once, or not
				errs := make(chan error, 1)
				require.NoError(t, handle.Do(func(*conn.Conn) { errs <- dial(context.Background()) }))
				err := conntest.Receive(t, errs)
				require.ErrorIs(t, err, sched.ErrBlocksWorker)
				require.ErrorContains(t, err, "server."+call+" on worker ")
			}
		}
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		first, err := peer.Accept()
		require.NoError(t, err)
		defer first.Close()
		require.Equal(t, c.LocalAddr().String(), first.RemoteAddr().String())
		require.NoError(t, handle.Close())
		require.NoError(t, p.Shutdown(t.Context()))
	})
}
