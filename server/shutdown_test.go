package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

// polite answers a request that is under way before it closes: "ask" announces
// one, "answer" ends it.
type polite struct {
	server.Base
	drained  atomic.Int32
	closed   atomic.Int32
	draining chan server.Handle
}

func (p *polite) OnData(c *server.Conn) error {
	text, _ := c.Next(-1)
	c.SetValue(string(text) == "ask")
	if _, err := c.Write(text); err != nil {
		return err
	}
	if string(text) == "answer" && p.drained.Load() > 0 {
		return c.Close()
	}
	return nil
}

func (p *polite) OnDrain(c *server.Conn) {
	p.drained.Add(1)
	if busy, _ := c.Value().(bool); !busy {
		_ = c.Close()
	}
	p.draining <- c.Handle()
}

func (p *polite) OnClose(*server.Conn, error) { p.closed.Add(1) }

func newPolite() *polite { return &polite{draining: make(chan server.Handle, 10)} }

func TestShutdownWaitsForWhatIsInProgressAndRefusesTheRest(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		h := newPolite()
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: workers})
		idle, busy := s.dial(), s.dial()
		roundTrip(t, idle, "hello")
		roundTrip(t, busy, "ask")
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		for range 2 {
			conntest.Receive(t, h.draining)
		}
		p, err := io.ReadAll(idle)
		require.NoError(t, err)
		require.Empty(t, p)
		require.NoError(t, idle.Close())
		_, err = net.Dial("tcp", s.addr.String())
		require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served), "Serve returns when shutdown begins")
		require.Equal(t, server.ErrServerClosed, s.Shutdown(context.Background()), "a second call does not wait")
		require.Equal(t, server.ErrServerClosed, s.Close())
		require.Empty(t, done, "Shutdown returned with a request in progress")
		roundTrip(t, busy, "answer")
		_, err = io.ReadAll(busy)
		require.NoError(t, err)
		require.NoError(t, busy.Close())
		require.NoError(t, conntest.Receive(t, done))
		require.EqualValues(t, 2, h.drained.Load())
		require.EqualValues(t, 2, h.closed.Load())
	})
}

func TestShutdownResetsWhatIsLeftWhenItsContextEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := newPolite()
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: 2})
		busy := s.dial()
		roundTrip(t, busy, "ask")
		ctx, cancel := context.WithCancelCause(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(ctx) }()
		conntest.Receive(t, h.draining)
		require.Empty(t, done)
		cancel(nil)
		err := conntest.Receive(t, done)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "connections that have not ended: 1, one of them with "+busy.LocalAddr().String())
		_, err = io.ReadAll(busy)
		requireReset(t, err)
		require.EqualValues(t, 1, h.closed.Load(), "OnClose before Shutdown returns")
		require.Zero(t, s.Group().Len())
	})
}

func TestShutdownWithDeadlineReturnsItsError(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		h := newPolite()
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: 2})
		roundTrip(t, s.dial(), "ask")
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, s.Shutdown(ctx), context.DeadlineExceeded)
	})
}

// A handler that is running when Shutdown begins, and answers in its own time.
type slow struct {
	server.Base
	running, gate chan struct{}
}

func (h *slow) OnData(c *server.Conn) error {
	_, _ = c.Discard(-1)
	h.running <- struct{}{}
	<-h.gate
	_, err := c.WriteString("done")
	return err
}

func TestShutdownWaitsForAHandlerThatIsRunning(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		h := &slow{running: make(chan struct{}), gate: make(chan struct{})}
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: workers})
		c := s.dial()
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		conntest.Receive(t, h.running)
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		if workers > 1 || runtime.GOOS != "windows" { // where only a worker can close a listener
			conntest.Eventually(t, func() bool {
				c, err := net.Dial("tcp", s.addr.String())
				if err == nil {
					_ = c.Close()
				}
				return errors.Is(conn.Portable(err), syscall.ECONNREFUSED)
			})
		}
		require.Empty(t, done)
		close(h.gate)
		p, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "done", string(p))
		require.NoError(t, c.Close())
		require.NoError(t, conntest.Receive(t, done))
	})
}

func TestCloseResetsConnectionsAtOnce(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		h := newPolite()
		s := run(t, &server.Server{Handler: h, Backend: backend, Workers: workers})
		var all []net.Conn
		for range 20 {
			c := s.dial()
			roundTrip(t, c, "ask")
			all = append(all, c)
		}
		require.NoError(t, s.Close())
		require.Equal(t, server.ErrServerClosed, conntest.Receive(t, s.served))
		require.Zero(t, h.drained.Load())
		require.EqualValues(t, 20, h.closed.Load())
		for _, c := range all {
			_, err := io.ReadAll(c)
			requireReset(t, err)
		}
		require.Equal(t, server.ErrServerClosed, s.Close())
		require.Equal(t, server.ErrServerClosed, s.Shutdown(context.Background()))
	})
}

func TestServeAndShutdownAtOnce(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for range 50 {
			s := &server.Server{Handler: echo{}, Backend: backend, Workers: 2, Addr: "127.0.0.1:0"}
			served := make(chan error, 1)
			go func() { served <- s.ListenAndServe() }()
			err := s.Shutdown(context.Background())
			require.NoError(t, err)
			require.Equal(t, server.ErrServerClosed, conntest.Receive(t, served))
		}
	})
}
