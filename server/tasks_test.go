package server_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// A flush is a task that has something to do after it was asked to end.
type flush struct {
	asked   chan struct{}           // it has seen the token canceled
	may     sched.CancellationToken // canceled when it may end
	flushed atomic.Bool
}

func newFlush() *flush { return &flush{asked: make(chan struct{}, 1)} }

// run is the task's function.
func (f *flush) run(cx *sched.Context) error {
	if _, err := sched.Await(cx, cx.Draining().Canceled()); err != nil {
		return err
	}
	f.asked <- struct{}{}
	if _, err := sched.Await(cx, f.may.Canceled()); err != nil {
		return err
	}
	f.flushed.Store(true)
	return nil
}

// A spawning starts a task in its server at the first byte.
type spawning struct {
	server.Base
	spawn   func(c *server.Conn)
	started chan struct{}
}

func (h *spawning) OnData(c *server.Conn) error {
	p, _ := c.Next(-1)
	h.spawn(c)
	h.started <- struct{}{}
	_, err := c.Write(p)
	return err
}

// spawners are the ways in which a handler of s starts the task.
func spawners(s *server.Server, f *flush) map[string]server.Handler {
	seq := func(spawn func(cx *sched.Context)) server.Handler {
		return server.Sequential(func(cx *sched.Context, st *server.Stream) error {
			for {
				p, err := st.Next(-1)
				if err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
				spawn(cx)
				if _, err := st.Write(p); err != nil {
					return err
				}
			}
		})
	}
	callback := func(spawn func(c *server.Conn)) server.Handler {
		return &spawning{spawn: spawn, started: make(chan struct{}, 1)}
	}
	stackless := func() sched.Future[struct{}] {
		step, may := 0, f.may.Canceled()
		var canceled sched.Future[struct{}]
		return sched.FutureFunc[struct{}](func(cx *sched.Context) (struct{}, error) {
			if step == 0 {
				if canceled == nil {
					canceled = cx.Draining().Canceled()
				}
				if _, err := canceled.Poll(cx); err != nil {
					return struct{}{}, err
				}
				step = 1
				f.asked <- struct{}{}
			}
			if _, err := may.Poll(cx); err == sched.ErrPending {
				return struct{}{}, err
			}
			f.flushed.Store(true)
			return struct{}{}, nil
		})
	}
	return map[string]server.Handler{
		"a callback":            callback(func(c *server.Conn) { s.Tasks().Go(c.Group().Runtime(), f.run).Detach() }),
		"a callback, stackless": callback(func(c *server.Conn) { s.Tasks().Spawn(c.Group().Runtime(), stackless()).Detach() }),
		"a function":            seq(func(cx *sched.Context) { s.Tasks().Go(cx, f.run).Detach() }),
		"a function, stackless": seq(func(cx *sched.Context) { s.Tasks().Spawn(cx, stackless()).Detach() }),
		"a goroutine": callback(func(c *server.Conn) {
			rt := c.Group().Runtime()
			onGoroutine(func() { s.Tasks().Go(rt, f.run).Detach() })
		}),
		"a task that has spawned": seq(func(cx *sched.Context) { spawnInTask(cx, s.Tasks(), f) }),
	}
}

func onGoroutine(f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	<-done
}

// spawnInTask starts the task when the shutdown has begun.
func spawnInTask(cx *sched.Context, tasks *sched.TaskScope, f *flush) {
	tasks.Go(cx, func(cx *sched.Context) error {
		_, err := sched.Await(cx, cx.Draining().Canceled())
		tasks.Go(cx, f.run).Detach()
		return err
	}).Detach()
}

// The order of a shutdown: the token, the end of connections, the tasks, the end of the workers.
func TestShutdownAwaitsTheTasksOfItsHandlers(t *testing.T) {
	for name := range spawners(&server.Server{}, newFlush()) {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				srv, f := &server.Server{Backend: backend, Workers: workers}, newFlush()
				srv.Handler = spawners(srv, f)[name]
				s := run(t, srv)
				c := s.dial()
				roundTrip(t, c, "x")
				rt := s.Group().Runtime()
				require.False(t, rt.Draining().IsCanceled())
				require.Positive(t, s.Tasks().Len())
				over := make(chan error, 1)
				go func() { over <- s.Shutdown(context.Background()) }()
				conntest.Receive(t, f.asked)
				_, err := io.ReadAll(c)
				require.NoError(t, err)
				require.NoError(t, c.Close())
				conntest.Eventually(t, func() bool { return s.Group().Len() == 0 })
				requireUnreachable(t, s.addr)
				select {
				case err := <-over:
					t.Fatal("it has not waited for the task", err)
				case <-rt.Done():
					t.Fatal("the workers have ended")
				default:
				}
				f.may.Cancel()
				require.NoError(t, conntest.Receive(t, over))
				require.True(t, f.flushed.Load())
				conntest.Receive(t, rt.Done())
				h := s.Tasks().Go(rt, func(*sched.Context) error { t.Error("it is called"); return nil })
				_, err = h.Wait(t.Context())
				require.ErrorIs(t, err, sched.ErrClosed)
			})
		})
	}
}

// A task may need a connection to another server after the client's has ended.
func TestATaskUsesADialedConnectionDuringTheShutdown(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		b := newLateBackend(t)
		srv := &server.Server{Backend: backend, Workers: workers}
		d := &server.Dialer{Group: srv.Group}
		answer := make(chan string, 1)
		h := &spawning{started: make(chan struct{}, 1), spawn: func(c *server.Conn) {
			srv.Tasks().Go(c.Group().Runtime(), func(cx *sched.Context) error {
				up, err := d.DialStream(cx, "tcp", b.addr)
				if err != nil {
					return err
				}
				defer up.Close()
				if _, err := sched.Await(cx, cx.Draining().Canceled()); err != nil {
					return err
				}
				if _, err := io.WriteString(up, "?"); err != nil {
					return err
				}
				p := make([]byte, 1)
				_, err = io.ReadFull(up, p)
				answer <- string(p)
				return err
			}).Detach()
		}}
		srv.Handler = h
		s := run(t, srv)
		c := s.dial()
		roundTrip(t, c, "x")
		conntest.Eventually(t, func() bool { return s.Group().Len() == 2 })
		over := make(chan error, 1)
		go func() { over <- s.Shutdown(context.Background()) }()
		up := conntest.Receive(t, b.asked)
		_, err := io.ReadAll(c)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		conntest.Eventually(t, func() bool { return s.Group().Len() == 1 })
		_, err = io.WriteString(up, "!")
		require.NoError(t, err)
		require.Equal(t, "!", conntest.Receive(t, answer))
		_ = up.Close()
		require.NoError(t, conntest.Receive(t, over))
	})
}

// busy has a task that does not heed the token.
func busy(cx *sched.Context) error {
	_, err := sched.Await(cx, new(sched.CancellationToken).Canceled())
	return err
}

func TestADeadlineAbortsTheTasksThatAreLeft(t *testing.T) {
	for name, shared := range map[string]bool{"own": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				s := start(t, shared, backend, workers)
				hs := []*sched.JoinHandle[struct{}]{
					s.Tasks().Go(s.Group().Runtime(), busy), s.Tasks().Go(s.Group().Runtime(), busy),
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				err := s.Shutdown(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorContains(t, err, "2 of github.com/suiro-go/suiro/server_test.busy")
				for _, h := range hs {
					_, err := h.Wait(t.Context())
					require.Error(t, err)
				}
				require.Zero(t, s.Tasks().Len())
				_, err = s.Tasks().Go(s.Group().Runtime(), busy).Wait(t.Context())
				require.ErrorIs(t, err, sched.ErrClosed)
			})
		})
	}
}

func TestCloseAbortsTasksAtOnce(t *testing.T) {
	for name, shared := range map[string]bool{"own": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				s := start(t, shared, backend, workers)
				h := s.Tasks().Go(s.Group().Runtime(), busy)
				require.NoError(t, s.Close())
				_, err := h.Wait(t.Context())
				require.Error(t, err)
				require.True(t, s.Tasks().Draining().IsCanceled())
				require.Zero(t, s.Tasks().Len())
			})
		})
	}
}

// start is a server that runs, with a group of its own or on one that it shares.
func start(t *testing.T, shared bool, backend string, workers int) *running {
	if shared {
		return runOn(t, sharedGroup(t, backend, workers), &server.Server{Handler: echo{}})
	}
	return run(t, &server.Server{Handler: echo{}, Backend: backend, Workers: workers})
}

func TestAServerOnASharedGroupAwaitsItsOwnTasksAlone(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		g := sharedGroup(t, backend, workers)
		a, b := runOn(t, g, &server.Server{Handler: echo{}}), runOn(t, g, &server.Server{Handler: echo{}})
		ofA, ofB := newFlush(), newFlush()
		a.Tasks().Go(g.Runtime(), ofA.run).Detach()
		h := b.Tasks().Go(g.Runtime(), ofB.run)
		over := make(chan error, 1)
		go func() { over <- a.Shutdown(context.Background()) }()
		conntest.Receive(t, ofA.asked)
		require.Empty(t, over)
		ofA.may.Cancel()
		require.NoError(t, conntest.Receive(t, over))
		require.True(t, ofA.flushed.Load())
		require.False(t, h.Done())
		require.Empty(t, ofB.asked)
		require.False(t, g.Runtime().Draining().IsCanceled(), "the group goes on")
		roundTrip(t, b.dial(), "x")
		ofB.may.Cancel()
		require.NoError(t, b.Shutdown(context.Background()))
		require.True(t, ofB.flushed.Load())
	})
}

// A function's token is that of its connection, also on a shared group. Handlers see it canceled
// before OnDrain.
func TestTheTokenOfAConnectionsFunction(t *testing.T) {
	for name, shared := range map[string]bool{"own": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				waits := server.Sequential(func(cx *sched.Context, s *server.Stream) error {
					if first, again := cx.Draining(), cx.Draining(); first != again {
						t.Error("two calls return two tokens")
					}
					if _, err := io.WriteString(s, "hello"); err != nil {
						return err
					}
					_, err := sched.Await(cx, cx.Draining().Canceled())
					if !cx.Draining().IsCanceled() {
						t.Error("it is not canceled")
					}
					if err == nil {
						_, err = io.WriteString(s, "bye")
					}
					return err
				})
				var s, other *running
				if shared {
					g := sharedGroup(t, backend, workers)
					s, other = runOn(t, g, &server.Server{Handler: waits}), runOn(t, g, &server.Server{Handler: waits})
				} else {
					s = run(t, &server.Server{Handler: waits, Backend: backend, Workers: workers})
				}
				c, p := s.dial(), make([]byte, 5)
				_, err := io.ReadFull(c, p)
				require.NoError(t, err)
				var stays net.Conn
				if other != nil {
					stays = other.dial()
					_, err := io.ReadFull(stays, p)
					require.NoError(t, err)
				}
				over := make(chan error, 1)
				go func() { over <- s.Shutdown(context.Background()) }()
				rest, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Equal(t, "bye", string(rest))
				require.NoError(t, c.Close())
				require.NoError(t, conntest.Receive(t, over))
				if other != nil {
					conntest.Eventually(t, func() bool { return other.Group().Len() == 1 }, "the other server's connection goes on")
					go func() { over <- other.Shutdown(context.Background()) }()
					rest, err := io.ReadAll(stays)
					require.NoError(t, err)
					require.Equal(t, "bye", string(rest))
					require.NoError(t, stays.Close())
					require.NoError(t, conntest.Receive(t, over))
				}
			})
		})
	}
}

// A drained looks at the tokens in OnDrain.
type drained struct {
	server.Base
	tasks *sched.TaskScope
	seen  chan [2]bool
}

func (*drained) OnData(*server.Conn) error { return nil }

func (d *drained) OnDrain(c *server.Conn) {
	d.seen <- [2]bool{d.tasks.Draining().IsCanceled(), c.Group().Runtime().Draining().IsCanceled()}
	_ = c.Close()
}

func TestTheTokensAreCanceledBeforeOnDrain(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		srv := &server.Server{Backend: backend, Workers: workers}
		h := &drained{tasks: srv.Tasks(), seen: make(chan [2]bool, 1)}
		srv.Handler = h
		s := run(t, srv)
		c := s.dial()
		conntest.Eventually(t, func() bool { return s.Group().Len() == 1 })
		shutDown(t, s)
		require.Equal(t, [2]bool{true, true}, conntest.Receive(t, h.seen))
		_ = c.Close()
	})
}

func TestAServerThatHasNotServedRefusesTasksOnceItIsShutDown(t *testing.T) {
	g := sharedGroup(t, "", 1)
	for name, end := range map[string]func(s *server.Server) error{
		"Shutdown": func(s *server.Server) error { return s.Shutdown(t.Context()) },
		"Close":    func(s *server.Server) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := &server.Server{Handler: echo{}}
			h := s.Tasks().Go(g.Runtime(), busy)
			require.NoError(t, end(s))
			_, err := h.Wait(t.Context())
			require.ErrorIs(t, err, sched.ErrCanceled)
			_, err = s.Tasks().Go(g.Runtime(), busy).Wait(t.Context())
			require.ErrorIs(t, err, sched.ErrClosed)
		})
	}
}

// A Shutdown whose ctx has ended still says nothing if nothing is left.
func TestShutdownWithAnEndedContextAndNoTasks(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		s := start(t, false, backend, 1)
		_, err := s.Tasks().Go(s.Group().Runtime(), func(*sched.Context) error { return nil }).Wait(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Shutdown(ctx); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			require.NotErrorIs(t, err, conn.ErrStuck)
		}
	})
}
