package server_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/server"
)

func TestAConnectionThatFailsTheCheckIsNotGivenOut(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		bad := sync.Map{}
		p := newPooling(t, backend, 2, false, &server.Pool{Check: func(c *server.Conn) error {
			if v, ok := bad.Load(c.LocalAddr().String()); ok {
				if v == "panic" {
					panic("in Check")
				}
				return errors.New("bad")
			}
			return nil
		}})
		var handles []server.Handle
		var all []string
		for range 3 {
			h, name := p.get(newTold())
			handles, all = append(handles, h), append(all, name)
		}
		for _, h := range handles {
			p.put(h)
		}
		bad.Store(all[2], "error")
		bad.Store(all[1], "panic")
		_, name := p.get(newTold())
		require.Equal(t, all[0], name)
		conntest.Eventually(t, func() bool { return p.group.Len() == 1 })
		require.Equal(t, 1, p.Stats().InUse)
	})
}

func TestAnAddressThatFailsIsLeftAloneForAWhile(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		_, four := both(t)
		p := newPooling(t, backend, workers, true, &server.Pool{BackOff: time.Second, MaxBackOff: 4 * time.Second})
		addr := at("127.0.0.1", four.Port())
		get := func() error { _, err := p.Get(t.Context(), "tcp", addr, newTold()); return err }
		for i, wait := range []time.Duration{1, 2, 4, 4} {
			err := get()
			require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
			require.NotErrorIs(t, err, server.ErrBackOff)
			p.advance(wait*time.Second/2 - 10*time.Millisecond) // the shortest it may be
			err = get()
			require.ErrorIs(t, err, server.ErrBackOff)
			require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
			h := newTold()
			_, err = p.Start("tcp", addr, h)
			require.NoError(t, err)
			require.ErrorIs(t, h.failed(t), server.ErrBackOff)
			require.EqualValues(t, i+1, p.Stats().Dials)
			p.advance(wait*time.Second/2 + 20*time.Millisecond) // the longest
		}
		l := serveEcho(t, four.Listen(t))
		require.NoError(t, get())
		l.closeAll()
		require.NoError(t, get(), "it is forgiven")
		_, err := p.Get(t.Context(), "tcp", p.l.Addr().String(), newTold())
		require.NoError(t, err, "another address is not concerned")
	})
}

// After the back-off one is dialed, not as many as wait.
func TestAnAddressThatHasFailedIsTriedByOneDialAtATime(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		_, four := both(t)
		p := newPooling(t, backend, 2, true, &server.Pool{BackOff: time.Second})
		addr := at("127.0.0.1", four.Port())
		_, err := p.Get(t.Context(), "tcp", addr, newTold())
		require.ErrorIs(t, conn.Portable(err), syscall.ECONNREFUSED)
		p.advance(2 * time.Second)
		four.Swallow(t)
		var cancels []func()
		for range 5 {
			cancel, err := p.Start("tcp", addr, newTold())
			require.NoError(t, err)
			cancels = append(cancels, cancel)
		}
		require.Equal(t, 1, p.Stats().Dialing)
		require.Equal(t, 5, p.Stats().Waiting)
		for _, cancel := range cancels {
			cancel()
		}
	})
}

// A connection in use may be used for hours.
func TestARequestThatWaitsInABackOffGetsAConnectionAfterIt(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, true, &server.Pool{BackOff: time.Second})
		var refused atomic.Bool
		p.Pool.Dialer.Control = func(string, string, syscall.RawConn) error {
			if refused.Load() {
				return syscall.ENOBUFS
			}
			return nil
		}
		p.get(newTold()) // and keeps it
		refused.Store(true)
		_, err := p.Get(t.Context(), "tcp", p.l.Addr().String(), newTold())
		require.ErrorIs(t, err, syscall.ENOBUFS)
		var waiting []*told
		for range 3 {
			h := newTold()
			_, err := p.Start("tcp", p.l.Addr().String(), h)
			require.NoError(t, err)
			waiting = append(waiting, h)
		}
		require.EqualValues(t, 2, p.Stats().Dials)
		p.advance(time.Second + 10*time.Millisecond)
		require.ErrorIs(t, waiting[0].failed(t), syscall.ENOBUFS)
		require.EqualValues(t, 3, p.Stats().Dials, "one at a time")
		refused.Store(false)
		p.advance(2*time.Second + 10*time.Millisecond)
		for _, h := range waiting[1:] {
			conntest.Receive(t, h.opened)
		}
	})
}

func TestAFailedDialIsToldToOneWhoWaitsAndTheRestDoNotWaitInVain(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		_, four := both(t)
		for _, backOff := range []time.Duration{0, -1} {
			p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 2, BackOff: backOff})
			var all []*told
			for range 10 {
				h := newTold()
				if _, err := p.Start("tcp", at("127.0.0.1", four.Port()), h); err != nil {
					t.Fatal(err)
				}
				all = append(all, h)
			}
			for _, h := range all {
				require.ErrorIs(t, h.failed(t), syscall.ECONNREFUSED)
			}
			require.Zero(t, p.Stats().Waiting)
			conntest.Eventually(t, func() bool { return p.group.Len() == 0 })
			if backOff < 0 {
				require.EqualValues(t, 10, p.Stats().DialErrors)
			}
		}
	})
}

func TestClosingAPool(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		_, four := both(t)
		four.Swallow(t)
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 2})
		used, _ := p.get(newTold())
		unused, _ := p.get(newTold())
		p.put(unused)
		third, _ := p.get(newTold())
		waits, dialed := newTold(), newTold()
		_, err := p.Start("tcp", p.l.Addr().String(), waits)
		require.NoError(t, err)
		_, err = p.Start("tcp", at("127.0.0.1", four.Port()), dialed)
		require.NoError(t, err)
		late := errors.New("too late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, late)
		defer cancel()
		err = p.Shutdown(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, late)
		require.ErrorContains(t, err, "2 connections")
		require.ErrorIs(t, waits.failed(t), server.ErrPoolClosed)
		require.ErrorIs(t, dialed.failed(t), net.ErrClosed)
		_, err = p.Start("tcp", p.l.Addr().String(), waits)
		require.ErrorIs(t, err, server.ErrPoolClosed)
		require.ErrorIs(t, p.Close(), net.ErrClosed)
		done := make(chan error, 1)
		go func() { done <- p.Shutdown(t.Context()) }()
		p.put(used)
		require.NoError(t, third.Abort())
		require.NoError(t, conntest.Receive(t, done))
		conntest.Eventually(t, func() bool { return p.group.Len() == 0 })
		require.Zero(t, p.Stats().Idle)
	})
}

func TestPutOfAConnectionThatIsNotOnesOwnPanics(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newPooling(t, backend, 1, false, &server.Pool{})
		handle, _ := p.get(newTold())
		again := make(chan any, 1)
		require.NoError(t, handle.Do(func(c *server.Conn) {
			p.Put(c)
			defer func() { again <- recover() }()
			p.Put(c)
		}))
		require.Contains(t, conntest.Receive(t, again), "Put")
	})
}

// A handler whose OnOpen fails or panics has had its connection: the place is free again.
func TestAHandlerThatRefusesItsConnectionEndsIt(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 1})
		own := errors.New("not this one")
		for i := range 4 {
			h := newTold()
			o := &refuser{told: h, err: own, panic: i%2 == 1}
			if i == 2 { // an idle one
				handle, _ := p.get(newTold())
				p.put(handle)
			}
			_, err := p.Get(t.Context(), "tcp", p.l.Addr().String(), o)
			require.NoError(t, err)
			err = conntest.Receive(t, h.closed)
			if pe := (*conn.PanicError)(nil); o.panic {
				require.ErrorAs(t, err, &pe)
			} else {
				require.ErrorIs(t, err, own)
			}
		}
		p.get(newTold())
	})
}

type refuser struct {
	*told
	err   error
	panic bool
}

func (r *refuser) OnOpen(*server.Conn) error {
	if r.panic {
		panic(r.err)
	}
	return r.err
}
