package server_test

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// lose calls again after each way in which a task loses the result of a future that is done.
func lose[T any](t *testing.T, c *client, future func() sched.Future[T], again func()) {
	never := sched.FutureFunc[int](func(*sched.Context) (int, error) { return 0, sched.ErrPending })
	for name, way := range map[string]func(cx *sched.Context, f sched.Future[T], done func() bool) error{
		"a Join2 that lost a Select": func(cx *sched.Context, f sched.Future[T], done func() bool) error {
			other := sched.FutureFunc[sched.Pair[T, int]](func(*sched.Context) (p sched.Pair[T, int], err error) {
				if !done() {
					err = sched.ErrPending
				}
				return p, err
			})
			_, err := sched.Await(cx, sched.SelectBiased[sched.Pair[T, int]](sched.Join2[T, int](f, never), other))
			return err
		},
		"a JoinSet that is closed": func(cx *sched.Context, f sched.Future[T], done func() bool) error {
			var set sched.JoinSet[T]
			set.Spawn(cx, f)
			defer set.Close()
			return until(cx, done)
		},
		"a task that is detached": func(cx *sched.Context, f sched.Future[T], done func() bool) error {
			defer sched.Spawn(cx, f).Detach()
			return until(cx, done)
		},
		"a detached task with a Join2": func(cx *sched.Context, f sched.Future[T], done func() bool) error {
			defer sched.Spawn(cx, sched.Join2[T, int](f, sched.FutureFunc[int](func(*sched.Context) (int, error) { return 1, nil }))).Detach()
			return until(cx, done)
		},
		"a detached function": func(cx *sched.Context, f sched.Future[T], done func() bool) error {
			sched.Go(cx, func(cx *sched.Context) (T, error) { return sched.Await(cx, f) }).Detach()
			return until(cx, done)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var done atomic.Bool
			f := future()
			require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
				return way(cx, sched.FutureFunc[T](func(cx *sched.Context) (T, error) {
					v, err := f.Poll(cx)
					if err != sched.ErrPending {
						require.NoError(t, err)
						done.Store(true)
					}
					return v, err
				}), done.Load)
			}))
			conntest.Eventually(t, func() bool { return c.group.Len() == 0 })
			again()
		})
	}
}

func until(cx *sched.Context, done func() bool) error {
	for !done() {
		if _, err := sched.Await(cx, sched.Sleep(100*time.Microsecond)); err != nil {
			return err
		}
	}
	return nil
}

// A connection that a future has opened for a task, and that no task takes, is reset. Its place in
// the pool is free again.
func TestAConnectionThatNoTaskTakesIsReleased(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend})
		c := newClient(t, backend, 2, false)
		p := &server.Pool{Dialer: c.Dialer, MaxConns: 1}
		defer p.Close()
		nothing := func() {}
		pooled := func() {
			require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
				s, err := p.GetStream(cx, "tcp", s.addr.String())
				if err != nil {
					return err
				}
				defer s.Close()
				return exchangeStream(s, "again")
			}))
			conntest.Eventually(t, func() bool { return c.group.Len() == 0 })
		}
		t.Run("dialed", func(t *testing.T) {
			lose(t, c, func() sched.Future[*server.Stream] { return c.DialStreamFuture("tcp", s.addr.String()) }, nothing)
		})
		t.Run("pooled", func(t *testing.T) {
			lose(t, c, func() sched.Future[*server.Stream] { return p.GetStreamFuture("tcp", s.addr.String()) }, pooled)
		})
		t.Run("leased", func(t *testing.T) {
			lose(t, c, func() sched.Future[server.Lease] {
				return p.GetLeaseFuture("tcp", s.addr.String(), echo{})
			}, pooled)
		})
		t.Run("UDP", func(t *testing.T) {
			lose(t, c, func() sched.Future[*server.UDPSocket] { return c.DialUDPFuture("udp", s.addr.String()) }, nothing)
		})
		ts := &server.Server{On: c.group}
		l, err := ts.ListenStream("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		var peer net.Conn
		accept := func() {
			require.NoError(t, peer.SetDeadline(time.Now().Add(conntest.Patience)))
			_, err := peer.Read(make([]byte, 1))
			requireReset(t, err)
			require.NoError(t, peer.Close())
		}
		t.Run("accepted", func(t *testing.T) {
			lose(t, c, func() sched.Future[*server.Stream] {
				peer, err = net.Dial("tcp", l.Addr().String())
				require.NoError(t, err)
				return l.AcceptFuture()
			}, accept)
		})
		require.NoError(t, ts.Close())
	})
}

// A handler's Stream is not a result's to end.
func TestReleaseLeavesAHandlersStreamOpen(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Backend: backend, Handler: server.Sequential(func(cx *sched.Context, s *server.Stream) error {
			for _, result := range []func(cx *sched.Context) *server.Stream{
				func(*sched.Context) *server.Stream { return s },
				func(cx *sched.Context) *server.Stream { return s.Bind(cx) },
			} {
				h := sched.Go(cx, func(cx *sched.Context) (*server.Stream, error) { return result(cx), nil })
				if err := until(cx, h.Done); err != nil {
					return err
				}
				h.Detach()
			}
			return echoStream(cx, s)
		})})
		c, err := net.Dial("tcp", s.addr.String())
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write([]byte("hello"))
		require.NoError(t, err)
		p := make([]byte, 5)
		_, err = io.ReadFull(c, p)
		require.NoError(t, err)
	})
}

// A Stream that was given back is another task's connection.
func TestAStreamThatWasGivenBackIsNoMoreToAbort(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend})
		c := newClient(t, backend, 2, false)
		p := &server.Pool{Dialer: c.Dialer, MaxConns: 1}
		defer p.Close()
		require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
			first, err := p.GetStream(cx, "tcp", s.addr.String())
			if err != nil {
				return err
			}
			p.PutStream(first)
			second, err := p.GetStream(cx, "tcp", s.addr.String())
			if err != nil {
				return err
			}
			first.Abort()
			first.Release()
			p.PutStream(first)
			_ = first.Close()
			if err := exchangeStream(second, "hello"); err != nil {
				return err
			}
			p.PutStream(second)
			return nil
		}))
		require.Equal(t, uint64(1), p.Stats().Dials)
	})
}

// A connection on which a call has failed may still bring an answer: it is not kept.
func TestAPooledStreamOnWhichACallHasFailedIsClosed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend})
		c := newClient(t, backend, 2, false)
		p := &server.Pool{Dialer: c.Dialer, MaxConns: 1}
		defer p.Close()
		require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
			for i, fails := range []func(s *server.Stream) error{
				func(s *server.Stream) error { _, err := s.Read(make([]byte, 1)); return err },
				func(s *server.Stream) error { _, err := s.Peek(1); return err },
				func(s *server.Stream) error { _, err := s.TryRead(make([]byte, 1)); return err },
			} {
				s, err := p.GetStream(cx, "tcp", s.addr.String())
				if err != nil {
					return err
				}
				if err := errors.Join(exchangeStream(s, "hello"), s.SetReadDeadline(time.Unix(1, 0))); err != nil {
					return err
				}
				require.ErrorIs(t, fails(s), os.ErrDeadlineExceeded)
				if err := s.SetReadDeadline(time.Time{}); err != nil {
					return err
				}
				p.PutStream(s)
				require.Equal(t, uint64(i+1), p.Stats().Dials)
			}
			return nil
		}))
	})
}

// An unbound Stream is a mistake in the program, and no orderly end of the connection.
func TestTheErrorOfAnUnboundStreamIsNoEnd(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := run(t, &server.Server{Handler: echo{}, Backend: backend})
		c := newClient(t, backend, 1, false)
		require.NoError(t, inTask(t, c.group.Runtime(), func(cx *sched.Context) error {
			s, err := c.DialStream(cx, "tcp", s.addr.String())
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = s.Bind(nil).Read(make([]byte, 1))
			require.ErrorContains(t, err, "not bound")
			require.NotErrorIs(t, err, net.ErrClosed)
			return nil
		}))
	})
}
