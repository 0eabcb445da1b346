package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A pooling is a pool, and an echo server to connect to.
type pooling struct {
	*server.Pool
	*client
	l *listener
	t *testing.T
}

func newPooling(t *testing.T, backend string, workers int, paused bool, p *server.Pool) *pooling {
	t.Helper()
	l := listenEcho(t, "tcp", "127.0.0.1:0")
	c := newClient(t, backend, workers, paused)
	p.Dialer = c.Dialer
	conntest.Report(t, func() string { return fmt.Sprintf("%+v", p.Stats()) })
	t.Cleanup(func() { _ = p.Close() })
	return &pooling{Pool: p, client: c, l: l, t: t}
}

// get gives h a connection, and says which: its end's address.
func (p *pooling) get(h server.Handler) (server.Handle, string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), conntest.Patience)
	defer cancel()
	handle, err := p.GetContext(ctx, "tcp", p.l.Addr().String(), h)
	if err != nil {
		p.t.Fatalf("%v\n%s", err, conntest.Dump())
	}
	return handle, p.of(handle)
}

func (p *pooling) of(handle server.Handle) string {
	p.t.Helper()
	local := make(chan string, 1)
	require.NoError(p.t, handle.Do(func(c *server.Conn) { local <- c.LocalAddr().String() }))
	return conntest.Receive(p.t, local)
}

// put gives a connection back and waits for that.
func (p *pooling) put(handle server.Handle) {
	p.t.Helper()
	done := make(chan struct{})
	require.NoError(p.t, handle.Do(func(c *server.Conn) {
		p.Put(c)
		close(done)
	}))
	conntest.Receive(p.t, done)
}

// use uses a connection.
func use(t *testing.T, handle server.Handle, h *told, text string) {
	t.Helper()
	require.NoError(t, handle.Send([]byte(text)))
	h.next(t, text)
}

func TestAConnectionThatWasGivenBackIsUsedAgainByEachForm(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{})
		addr := p.l.Addr().String()
		first := ""
		for name, get := range map[string]func(h *told) (server.Handle, error){
			"callback": func(h *told) (server.Handle, error) {
				if _, err := p.Start("tcp", addr, h); err != nil {
					return server.Handle{}, err
				}
				c := conntest.Receive(t, h.opened)
				h.opened <- c
				return c.Handle(), nil
			},
			"task": func(h *told) (server.Handle, error) {
				return sched.Go(p.group.Runtime(), func(cx *sched.Context) (server.Handle, error) {
					return p.Get(cx, "tcp", addr, h)
				}).Wait(t.Context())
			},
			"goroutine": func(h *told) (server.Handle, error) { return p.GetContext(t.Context(), "tcp", addr, h) },
		} {
			h := newTold()
			handle, err := get(h)
			require.NoError(t, err, name)
			require.Len(t, h.opened, 1, name)
			if first == "" {
				first = p.of(handle)
			}
			require.Equal(t, first, p.of(handle), name)
			use(t, handle, h, name)
			p.put(handle)
			require.Empty(t, h.closed, name)
		}
		s := p.Stats()
		require.Equal(t, server.PoolStats{Idle: 1, PoolCounts: server.PoolCounts{Dials: 1, Reused: 2}}, s)
	})
}

func TestTheConnectionUsedLastIsGivenOutFirst(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newPooling(t, backend, 2, false, &server.Pool{})
		a, nameA := p.get(newTold())
		b, nameB := p.get(newTold())
		require.NotEqual(t, nameA, nameB)
		p.put(b)
		p.put(a)
		_, got := p.get(newTold())
		require.Equal(t, nameA, got)
		_, got = p.get(newTold())
		require.Equal(t, nameB, got)
	})
}

// returner gives its connection back when its answer has come.
type returner struct {
	server.Base
	pool  *server.Pool
	ended chan error
}

func (r returner) OnOpen(c *server.Conn) error {
	_, err := c.WriteString("hello")
	return err
}

func (r returner) OnData(c *server.Conn) error {
	if c.Buffered() < 5 {
		return nil
	}
	_, _ = c.Discard(-1)
	r.pool.Put(c)
	r.ended <- nil
	return nil
}

func (r returner) OnClose(_ *server.Conn, err error) {
	r.ended <- errors.Join(errors.New("closed"), err)
}

func TestHandlersGetAndGiveBackWhileTheyRun(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 3})
		const n = 200
		ended := make(chan error, n)
		for range n {
			_, err := p.Start("tcp", p.l.Addr().String(), returner{pool: p.Pool, ended: ended})
			require.NoError(t, err)
		}
		for range n {
			require.NoError(t, conntest.Receive(t, ended))
		}
		require.LessOrEqual(t, p.l.accepted(), 3)
		conntest.Eventually(t, func() bool { s := p.Stats(); return s.InUse == 0 && s.Dialling == 0 && s.Waiting == 0 })
	})
}

func TestAnIdleConnectionExpires(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, true, &server.Pool{IdleTimeout: time.Minute})
		handle, first := p.get(newTold())
		p.put(handle)
		p.advance(59 * time.Second)
		handle, name := p.get(newTold())
		require.Equal(t, first, name)
		p.advance(time.Hour) // it is in use
		require.Equal(t, first, p.of(handle))
		p.put(handle)
		p.advance(61 * time.Second)
		conntest.Eventually(t, func() bool { return p.Stats().Expired == 1 && p.Stats().Idle == 0 })
		conntest.Eventually(t, func() bool { return p.group.Len() == 0 })
		_, name = p.get(newTold())
		require.NotEqual(t, first, name)
	})
}

func TestAConnectionIsNotGivenOutAfterItsLifetime(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newPooling(t, backend, 2, true, &server.Pool{IdleTimeout: -1, MaxLifetime: time.Hour})
		handle, first := p.get(newTold())
		p.put(handle)
		p.advance(59 * time.Minute)
		handle, name := p.get(newTold())
		require.Equal(t, first, name)
		p.advance(2 * time.Minute)
		h := newTold()
		p.put(handle) // too old: closed
		require.Zero(t, p.Stats().Idle)
		handle, name = p.get(h)
		require.NotEqual(t, first, name)
		p.put(handle)
		p.advance(61 * time.Minute)
		conntest.Eventually(t, func() bool { return p.Stats().Expired == 1 })
		require.Empty(t, h.closed, "who has given it back is not concerned")
	})
}

func TestAnIdleConnectionThatThePeerHasClosedIsNeverGivenOut(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{})
		before := ""
		for range 50 {
			h := newTold()
			handle, name := p.get(h)
			require.NotEqual(t, before, name)
			use(t, handle, h, "hello")
			p.put(handle)
			p.l.closeAll() // the kernel knows when this returns; nothing is waited for
			before = name
		}
		conntest.Eventually(t, func() bool { return p.Stats().Idle == 0 })
		require.EqualValues(t, 50, p.Stats().Stale)
		require.Zero(t, p.Stats().Reused)
	})
}

func TestAnIdleConnectionOnWhichThePeerSpeaksIsRemovedAtOnce(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{})
		h := newTold()
		handle, _ := p.get(h)
		use(t, handle, h, "hello")
		p.put(handle)
		p.l.mu.Lock()
		_, err := p.l.conns[0].Write([]byte("unasked"))
		p.l.mu.Unlock()
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return p.Stats().Idle == 0 && p.group.Len() == 0 })
		require.EqualValues(t, 1, p.Stats().Stale)
		require.Empty(t, h.data)
		require.Empty(t, h.closed)
	})
}

func TestAConnectionThatCannotBeKeptIsClosedWhenItIsGivenBack(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, spoil := range map[string]func(c *server.Conn){
			"half closed": func(c *server.Conn) { _ = c.CloseWrite() },
			"closing":     func(c *server.Conn) { _ = c.Close() },
			"aborted":     func(c *server.Conn) { c.Abort() },
			"deaf":        func(c *server.Conn) { _ = c.CloseRead() },
		} {
			p := newPooling(t, backend, 2, false, &server.Pool{MaxConns: 1})
			h := newTold()
			handle, first := p.get(h)
			done := make(chan struct{})
			require.NoError(t, handle.Do(func(c *server.Conn) {
				spoil(c)
				p.Put(c)
				close(done)
			}))
			conntest.Receive(t, done)
			require.Equal(t, 0, p.Stats().Idle, name)
			_, second := p.get(newTold()) // its place is free
			require.NotEqual(t, first, second, name)
			require.Empty(t, h.closed, name)
		}
	})
}

// keeper leaves what has come unread.
type keeper struct{ *told }

func (k keeper) OnData(c *server.Conn) error { k.data <- ""; return nil }

func TestBytesThatAreUnreadKeepAConnectionFromBeingUsedAgain(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newPooling(t, backend, 2, false, &server.Pool{})
		k := keeper{newTold()}
		handle, first := p.get(k)
		require.NoError(t, handle.Send([]byte("left")))
		conntest.Receive(t, k.data)
		p.put(handle)
		h := newTold()
		handle, second := p.get(h)
		require.NotEqual(t, first, second)
		use(t, handle, h, "clean")
	})
}

func TestNothingOfTheOneBeforeIsLeftInAConnection(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, true, &server.Pool{IdleTimeout: -1})
		before := newTold()
		handle, first := p.get(before)
		done := make(chan error, 1)
		require.NoError(t, handle.Do(func(c *server.Conn) {
			c.SetValue("secret")
			c.SetRemoteAddr(&net.TCPAddr{Port: 4711})
			err := errors.Join(c.SetReadDeadline(c.Now().Add(time.Second)), c.SetWriteDeadline(c.Now().Add(-time.Second)),
				c.SetIdleTimeout(time.Second), c.PauseRead())
			p.Put(c)
			done <- err
		}))
		require.NoError(t, conntest.Receive(t, done))
		h := newTold()
		handle, second := p.get(h)
		require.Equal(t, first, second)
		c := conntest.Receive(t, h.opened)
		checked := make(chan error, 1)
		require.NoError(t, handle.Do(func(got *server.Conn) {
			switch {
			case got != c || got.Value() != nil:
				checked <- fmt.Errorf("the value is %v", got.Value())
			case got.RemoteAddr().String() != p.l.Addr().String():
				checked <- fmt.Errorf("the peer is %v", got.RemoteAddr())
			default:
				checked <- nil
			}
		}))
		require.NoError(t, conntest.Receive(t, checked))
		p.advance(time.Hour) // for no deadline to come
		use(t, handle, h, "hello")
		require.Empty(t, h.closed)
		require.Empty(t, before.data)
		require.Empty(t, before.closed)
	})
}

func TestThoseWhoWaitForAPlaceGetItInTheirOrder(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 2})
		a, nameA := p.get(newTold())
		b, _ := p.get(newTold())
		served := make(chan int, 100)
		handles := make(chan server.Handle, 100)
		const n = 20
		for i := range n {
			_, err := p.Start("tcp", p.l.Addr().String(), &opener{told: newTold(), tell: func(c *server.Conn) { served <- i; handles <- c.Handle() }})
			require.NoError(t, err)
		}
		require.Equal(t, n, p.Stats().Waiting)
		require.Empty(t, served)
		require.NoError(t, b.Close()) // an end makes room as well: by a new connection
		require.Equal(t, 0, conntest.Receive(t, served))
		p.put(a)
		for i := 1; i < n; i++ {
			require.Equal(t, i, conntest.Receive(t, served))
			if i == n-1 {
				break
			}
			p.put(conntest.Receive(t, handles))
		}
		require.EqualValues(t, 3, p.Stats().Dials)
		_ = nameA
	})
}

// opener tells of its connection.
type opener struct {
	*told
	tell func(*server.Conn)
}

func (o *opener) OnOpen(c *server.Conn) error {
	o.tell(c)
	return nil
}

func TestWhoStopsWaitingLosesNoPlace(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 1})
		first, name := p.get(newTold())
		var cancels []func()
		handlers := []*told{newTold(), newTold(), newTold()}
		for _, h := range handlers {
			cancel, err := p.Start("tcp", p.l.Addr().String(), h)
			require.NoError(t, err)
			cancels = append(cancels, cancel)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() {
			_, err := p.GetContext(ctx, "tcp", p.l.Addr().String(), newTold())
			ended <- err
		}()
		task := sched.Go(p.group.Runtime(), func(cx *sched.Context) (server.Handle, error) {
			return p.Get(cx, "tcp", p.l.Addr().String(), newTold())
		})
		conntest.Eventually(t, func() bool { return p.Stats().Waiting == 5 })
		cancels[0]()
		cancels[1]()
		cancel()
		task.Abort()
		require.ErrorIs(t, conntest.Receive(t, ended), context.Canceled)
		_, err := task.Wait(t.Context())
		require.ErrorIs(t, err, sched.ErrCancelled)
		require.Equal(t, 1, p.Stats().Waiting)
		p.put(first)
		c := conntest.Receive(t, handlers[2].opened)
		require.Equal(t, name, p.of(c.Handle()))
		cancels[2]() // it has the connection: that is reset, and makes room
		conntest.Receive(t, handlers[2].closed)
		_, second := p.get(newTold())
		require.NotEqual(t, name, second)
		for _, h := range handlers[:2] {
			require.Empty(t, h.opened)
			require.Empty(t, h.closed)
		}
	})
}

func TestADialThatNobodyWaitsForAnyMoreIsGivenUp(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		_, four := both(t)
		four.swallow(t, "127.0.0.1")
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 3})
		before := sockets()
		h := newTold()
		var cancels []func()
		for range 5 {
			cancel, err := p.Start("tcp", at("127.0.0.1", four.port), h)
			require.NoError(t, err)
			cancels = append(cancels, cancel)
		}
		require.Equal(t, 3, p.Stats().Dialling)
		for i, cancel := range cancels {
			cancel()
			require.Equal(t, min(3, 4-i), p.Stats().Dialling)
		}
		conntest.Eventually(t, func() bool { return p.group.Len() == 0 && sockets() == before })
		require.Empty(t, h.closed)
		require.Zero(t, p.Stats().DialErrors)
		_, err := p.GetContext(t.Context(), "tcp", p.l.Addr().String(), newTold())
		require.NoError(t, err)
	})
}

func TestNoMoreWaitThanMayWait(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newPooling(t, backend, 2, false, &server.Pool{MaxConns: 1, MaxWaiting: 2})
		handle, _ := p.get(newTold())
		for range 2 {
			_, err := p.Start("tcp", p.l.Addr().String(), newTold())
			require.NoError(t, err)
		}
		_, err := p.Start("tcp", p.l.Addr().String(), newTold())
		require.ErrorIs(t, err, server.ErrPoolFull)
		_, err = p.GetContext(t.Context(), "tcp", p.l.Addr().String(), newTold())
		require.ErrorIs(t, err, server.ErrPoolFull)
		require.Equal(t, 2, p.Stats().Waiting)
		p.put(handle)
	})
}

func TestOfTooManyIdleConnectionsTheOldestAreClosed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		p := newPooling(t, backend, 2, false, &server.Pool{MaxIdle: 2, MaxIdleTotal: 3})
		other := listenEcho(t, "tcp", "127.0.0.1:0")
		var handles []server.Handle
		names := map[string]bool{}
		for range 4 {
			h, name := p.get(newTold())
			handles = append(handles, h)
			names[name] = true
		}
		for _, h := range handles {
			p.put(h)
		}
		require.Equal(t, 2, p.Stats().Idle)
		require.EqualValues(t, 2, p.Stats().Evicted)
		handles = nil
		for range 2 {
			h, err := p.GetContext(t.Context(), "tcp", other.Addr().String(), newTold())
			require.NoError(t, err)
			handles = append(handles, h)
		}
		for _, h := range handles {
			p.put(h)
		}
		require.Equal(t, 3, p.Stats().Idle)
		conntest.Eventually(t, func() bool { return p.group.Len() == 3 })
		_, name := p.get(newTold())
		require.True(t, names[name])

		none := newPooling(t, backend, 2, false, &server.Pool{MaxIdle: -1})
		h, _ := none.get(newTold())
		none.put(h)
		require.Zero(t, none.Stats().Idle)
	})
}

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
		addr := at("127.0.0.1", four.port)
		get := func() error { _, err := p.GetContext(t.Context(), "tcp", addr, newTold()); return err }
		for i, wait := range []time.Duration{1, 2, 4, 4} {
			err := get()
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			require.NotErrorIs(t, err, server.ErrBackOff)
			p.advance(wait*time.Second/2 - 10*time.Millisecond) // the shortest it may be
			err = get()
			require.ErrorIs(t, err, server.ErrBackOff)
			require.ErrorIs(t, err, syscall.ECONNREFUSED)
			h := newTold()
			_, err = p.Start("tcp", addr, h)
			require.NoError(t, err)
			require.ErrorIs(t, h.failed(t), server.ErrBackOff)
			require.EqualValues(t, i+1, p.Stats().Dials)
			p.advance(wait*time.Second/2 + 20*time.Millisecond) // the longest
		}
		l := four.listen(t)
		require.NoError(t, get())
		l.closeAll()
		require.NoError(t, get(), "it is forgiven")
		_, err := p.GetContext(t.Context(), "tcp", p.l.Addr().String(), newTold())
		require.NoError(t, err, "another address is not concerned")
	})
}

// After the back-off one is dialled, not as many as wait.
func TestAnAddressThatHasFailedIsTriedByOneDialAtATime(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		_, four := both(t)
		p := newPooling(t, backend, 2, true, &server.Pool{BackOff: time.Second})
		addr := at("127.0.0.1", four.port)
		_, err := p.GetContext(t.Context(), "tcp", addr, newTold())
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		p.advance(2 * time.Second)
		four.swallow(t, "127.0.0.1")
		var cancels []func()
		for range 5 {
			cancel, err := p.Start("tcp", addr, newTold())
			require.NoError(t, err)
			cancels = append(cancels, cancel)
		}
		require.Equal(t, 1, p.Stats().Dialling)
		require.Equal(t, 5, p.Stats().Waiting)
		for _, cancel := range cancels {
			cancel()
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
				if _, err := p.Start("tcp", at("127.0.0.1", four.port), h); err != nil {
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
		four.swallow(t, "127.0.0.1")
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 2})
		used, _ := p.get(newTold())
		unused, _ := p.get(newTold())
		p.put(unused)
		third, _ := p.get(newTold())
		waits, dialled := newTold(), newTold()
		_, err := p.Start("tcp", p.l.Addr().String(), waits)
		require.NoError(t, err)
		_, err = p.Start("tcp", at("127.0.0.1", four.port), dialled)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		err = p.Shutdown(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "2 connections")
		require.ErrorIs(t, waits.failed(t), server.ErrPoolClosed)
		require.ErrorIs(t, dialled.failed(t), net.ErrClosed)
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
			_, err := p.GetContext(t.Context(), "tcp", p.l.Addr().String(), o)
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

// Requests that come, go and change their minds, peers that close connections at any
// time: nobody waits for ever, there are never too many connections, none is lost.
func TestAPoolUnderStress(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 4, MaxIdle: 3, BackOff: -1})
		addr := p.l.Addr().String()
		var n usage
		conntest.Crowd(t, 400, 16, func(i int) error {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if r.IntN(4) == 0 {
				time.AfterFunc(time.Duration(r.IntN(500))*time.Microsecond, cancel)
			}
			if r.IntN(20) == 0 {
				p.l.closeAll()
			}
			h := &counted{told: newTold(), n: &n}
			handle, err := p.GetContext(ctx, "tcp", addr, h)
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, syscall.ECONNRESET) {
					return fmt.Errorf("request %d: %w", i, err)
				}
				return nil
			}
			text := fmt.Sprintf("request %d", i)
			got := ""
			if handle.Send([]byte(text)) == nil {
			answer:
				for len(got) < len(text) {
					select {
					case s := <-h.data:
						got += s
					case <-h.closed:
						break answer
					case <-time.After(conntest.Patience):
						return errors.New("neither an answer nor an end\n" + conntest.Dump())
					}
				}
			}
			if got != text && got != text[:len(got)] {
				return fmt.Errorf("asked %q, answered %q", text, got)
			}
			if len(got) < len(text) || r.IntN(10) == 0 {
				_ = handle.Abort()
			} else {
				_ = handle.Do(func(c *server.Conn) {
					h.left()
					p.Put(c)
				})
			}
			return nil
		})
		conntest.Eventually(t, func() bool {
			s := p.Stats()
			return s.InUse == 0 && s.Waiting == 0 && s.Dialling == 0 && s.Idle == p.group.Len()
		}, func() string { return fmt.Sprintf("%+v, %d connections", p.Stats(), p.group.Len()) })
		n.mu.Lock()
		defer n.mu.Unlock()
		require.LessOrEqual(t, n.most, 4)
		require.Zero(t, n.now)
	})
}

// A usage is how many connections handlers have.
type usage struct {
	mu        sync.Mutex
	now, most int
}

// counted is a handler that counts itself while it has a connection.
type counted struct {
	*told
	n *usage
}

func (h *counted) OnOpen(c *server.Conn) error {
	h.n.mu.Lock()
	h.n.now++
	h.n.most = max(h.n.most, h.n.now)
	h.n.mu.Unlock()
	return h.told.OnOpen(c)
}

func (h *counted) left() {
	h.n.mu.Lock()
	defer h.n.mu.Unlock()
	h.n.now--
}

func (h *counted) OnClose(c *server.Conn, err error) {
	h.left()
	h.told.OnClose(c, err)
}
