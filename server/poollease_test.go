package server_test

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A call is one request and its answer over a pooled connection, which it gives back.
type call struct {
	server.Base
	pool  *server.Pool
	text  string
	ends  atomic.Bool
	begun func(c *server.Conn) // on a worker, when it has the connection
	over  func()               // on a worker, right before it gives that back
	done  chan error
}

func (h *call) OnOpen(c *server.Conn) error {
	h.begun(c)
	_, err := c.Write([]byte(h.text))
	return err
}

func (h *call) OnData(c *server.Conn) error {
	if c.Buffered() < len(h.text) {
		return nil
	}
	p, _ := c.Next(-1)
	var err error
	if string(p) != h.text {
		err = fmt.Errorf("asked %q and was told %q", h.text, p)
	}
	h.over()
	h.pool.Put(c)
	h.end(err)
	return nil
}

func (h *call) OnClose(_ *server.Conn, err error) { h.end(fmt.Errorf("the connection ended: %w", err)) }

func (h *call) end(err error) {
	if !h.ends.Swap(true) {
		h.done <- err
	}
}

// Calls that are canceled in the moment in which they end, beside others that share their
// connections: none of the others is touched.
func TestCanceledCallsEndNoOthers(t *testing.T) {
	for name, start := range map[string]func(p *pooling, h *call) (cancel func(), err error){
		"Lease": func(p *pooling, h *call) (func(), error) {
			var lease server.Lease
			h.begun = func(c *server.Conn) { lease = p.Lease(c) }
			_, err := p.Start("tcp", p.l.Addr().String(), h)
			return func() { _ = lease.Abort() }, err
		},
		"GetLease": func(p *pooling, h *call) (func(), error) {
			task := sched.Go(p.group.Runtime(), func(cx *sched.Context) (server.Lease, error) {
				return p.GetLease(cx, "tcp", p.l.Addr().String(), h)
			})
			lease, err := task.Wait(p.t.Context())
			return func() { _ = lease.Abort() }, err
		},
		"GetLease in a goroutine": func(p *pooling, h *call) (func(), error) {
			lease, err := p.GetLease(p.t.Context(), "tcp", p.l.Addr().String(), h)
			return func() { _ = lease.Abort() }, err
		},
		"cancel of Start": func(p *pooling, h *call) (func(), error) {
			return p.Start("tcp", p.l.Addr().String(), h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				p := newPooling(t, backend, 2, false, &server.Pool{MaxConns: 4})
				conntest.Each(t, 32, func(i int) error {
					for n := range 60 {
						h := &call{pool: p.Pool, text: fmt.Sprintf("call %d of %d", n, i), done: make(chan error, 1)}
						h.begun = func(*server.Conn) {}
						ending := make(chan struct{})
						h.over = func() { close(ending) }
						cancel, err := start(p, h)
						if err != nil {
							return err
						}
						if i%2 == 0 { // an honest one
							if err := <-h.done; err != nil {
								return err
							}
							continue
						}
						select {
						case <-ending:
							cancel()
						case err := <-h.done:
							return err // nobody else ends it either
						}
						<-h.done
					}
					return nil
				})
			})
		})
	}
}

// A Lease means its use alone, though the connection lives on.
func TestALeaseEndsWithItsUse(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 1})
		addr := p.l.Addr().String()
		h := newTold()
		first, err := p.GetLease(t.Context(), "tcp", addr, h)
		require.NoError(t, err)
		require.NoError(t, first.Do(func(c *server.Conn) { require.Equal(t, first, p.Lease(c)) }))
		require.NoError(t, first.Put())
		other := newTold()
		second, err := p.GetLease(t.Context(), "tcp", addr, other)
		require.NoError(t, err)
		require.EqualValues(t, 1, p.Stats().Dials, "it is the same connection")
		for _, over := range []server.Lease{first, {}} {
			require.ErrorIs(t, over.Abort(), net.ErrClosed)
			require.ErrorIs(t, over.Put(), net.ErrClosed)
			require.ErrorIs(t, over.Do(func(*server.Conn) { t.Error("it is another's") }), net.ErrClosed)
		}
		require.NoError(t, second.Do(func(c *server.Conn) { _, _ = c.Write([]byte("still here")) }))
		other.next(t, "still here")
		require.NoError(t, second.Abort())
		require.Error(t, conntest.Receive(t, other.closed))
		conntest.Eventually(t, func() bool { return errors.Is(second.Put(), net.ErrClosed) })
		require.Empty(t, h.closed)
	})
}
