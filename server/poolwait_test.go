package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
			_, err := p.Get(ctx, "tcp", p.l.Addr().String(), newTold())
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
		require.ErrorIs(t, err, sched.ErrCanceled)
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
		four.Swallow(t)
		p := newPooling(t, backend, workers, false, &server.Pool{MaxConns: 3})
		before := sockets()
		h := newTold()
		var cancels []func()
		for range 5 {
			cancel, err := p.Start("tcp", at("127.0.0.1", four.Port()), h)
			require.NoError(t, err)
			cancels = append(cancels, cancel)
		}
		require.Equal(t, 3, p.Stats().Dialing)
		for i, cancel := range cancels {
			cancel()
			require.Equal(t, min(3, 4-i), p.Stats().Dialing)
		}
		conntest.Eventually(t, func() bool { return p.group.Len() == 0 && sockets() == before })
		require.Empty(t, h.closed)
		require.Zero(t, p.Stats().DialErrors)
		_, err := p.Get(t.Context(), "tcp", p.l.Addr().String(), newTold())
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
		_, err = p.Get(t.Context(), "tcp", p.l.Addr().String(), newTold())
		require.ErrorIs(t, err, server.ErrPoolFull)
		require.Equal(t, 2, p.Stats().Waiting)
		p.put(handle)
	})
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
			handle, err := p.Get(ctx, "tcp", addr, h)
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(conn.Portable(err), syscall.ECONNRESET) {
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
			return s.InUse == 0 && s.Waiting == 0 && s.Dialing == 0 && s.Idle == p.group.Len()
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
