package server_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

// An entrance is a call that connects, or gets a connection, in one of its forms.
type entrance struct {
	task func(cx *sched.Context, to string) error   // it waits in a task
	ctx  func(ctx context.Context, to string) error // it blocks a goroutine until ctx ends
	both func(to string) error                      // it returns at once, and its handler gets the error
}

// entrances are all of a Dialer and a Pool for streams of bytes.
func entrances(t *testing.T, d *server.Dialer, p *server.Pool) map[string]entrance {
	started := func(start func(h server.Handler) error) error {
		h := newTold()
		if err := start(h); err != nil {
			return err
		}
		return conntest.Receive(t, h.closed)
	}
	return map[string]entrance{
		"DialHandler": {task: func(cx *sched.Context, to string) error {
			_, err := d.DialHandler(cx, "tcp", to, newTold())
			return err
		}},
		"DialStream": {task: func(cx *sched.Context, to string) error {
			_, err := d.DialStream(cx, "tcp", to)
			return err
		}},
		"Get": {task: func(cx *sched.Context, to string) error {
			_, err := p.Get(cx, "tcp", to, newTold())
			return err
		}},
		"GetLease": {task: func(cx *sched.Context, to string) error {
			_, err := p.GetLease(cx, "tcp", to, newTold())
			return err
		}},
		"GetStream": {task: func(cx *sched.Context, to string) error {
			_, err := p.GetStream(cx, "tcp", to)
			return err
		}},
		"DialHandler in a goroutine": {ctx: func(ctx context.Context, to string) error {
			_, err := d.DialHandler(ctx, "tcp", to, newTold())
			return err
		}},
		"DialStream in a goroutine": {ctx: func(ctx context.Context, to string) error {
			_, err := d.DialStream(ctx, "tcp", to)
			return err
		}},
		"DialContext": {ctx: func(ctx context.Context, to string) error {
			_, err := d.DialContext(ctx, "tcp", to)
			return err
		}},
		"DialTLSContext": {ctx: func(ctx context.Context, to string) error {
			_, err := d.DialTLSContext(ctx, "tcp", to)
			return err
		}},
		"Get in a goroutine": {ctx: func(ctx context.Context, to string) error {
			_, err := p.Get(ctx, "tcp", to, newTold())
			return err
		}},
		"GetLease in a goroutine": {ctx: func(ctx context.Context, to string) error {
			_, err := p.GetLease(ctx, "tcp", to, newTold())
			return err
		}},
		"GetStream in a goroutine": {ctx: func(ctx context.Context, to string) error {
			_, err := p.GetStream(ctx, "tcp", to)
			return err
		}},
		"DialHandlerFuture": {ctx: func(ctx context.Context, to string) error {
			_, err := sched.Await(context.WithoutCancel(ctx), sched.WithContext(ctx, d.DialHandlerFuture("tcp", to, newTold())))
			return err
		}},
		"Start": {both: func(to string) error {
			return started(func(h server.Handler) error {
				_, err := d.Start("tcp", to, h)
				return err
			})
		}},
		"Pool.Start": {both: func(to string) error {
			return started(func(h server.Handler) error {
				_, err := p.Start("tcp", to, h)
				return err
			})
		}},
	}
}

// Each call that connects returns, for each kind of failure, a *net.OpError of a dial, which
// matches the errors that the documentation of Dialer names.
func TestErrorsOfAllEntrances(t *testing.T) {
	long := context.Background()
	canceled, cancel := context.WithCancel(long)
	cancel()
	for name, c := range map[string]struct {
		full   bool // the address does not answer
		ctx    func() (context.Context, context.CancelFunc)
		limit  time.Duration // Dialer.Timeout
		aborts bool          // the task is aborted
		closes bool          // the group is closed before
		want   []error
	}{
		"refused":             {want: []error{syscall.ECONNREFUSED}},
		"ctx was canceled":    {full: true, ctx: func() (context.Context, context.CancelFunc) { return canceled, cancel }, want: []error{context.Canceled}},
		"ctx has a deadline":  {full: true, ctx: func() (context.Context, context.CancelFunc) { return context.WithTimeout(long, time.Millisecond) }, want: []error{context.DeadlineExceeded, os.ErrDeadlineExceeded}},
		"Timeout":             {full: true, limit: 20 * time.Millisecond, want: []error{os.ErrDeadlineExceeded}},
		"the task is aborted": {full: true, aborts: true, want: []error{sched.ErrCanceled, context.Canceled}},
		"the group is closed": {closes: true, want: []error{net.ErrClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
				if c.full {
					hole.Swallow(t)
				}
				cl := newClient(t, backend, 2, false)
				cl.Timeout = c.limit
				tasks := cl.group.Runtime()
				if c.closes {
					require.NoError(t, cl.group.Close())
					tasks = sched.New(sched.Config{Workers: 1})
					defer func() { require.NoError(t, tasks.Close()) }()
				}
				p := &server.Pool{Dialer: cl.Dialer, BackOff: -1}
				defer p.Close()
				for name, e := range entrances(t, &cl.Dialer, p) {
					t.Run(name, func(t *testing.T) {
						errs := make(chan error, 1)
						switch {
						case c.ctx != nil && e.ctx == nil, c.aborts && e.task == nil:
							return
						case e.task != nil:
							h := sched.Go(tasks, func(cx *sched.Context) (struct{}, error) {
								errs <- e.task(cx, hole.Addr().String())
								return struct{}{}, nil
							})
							if c.aborts {
								conntest.Eventually(t, func() bool { return cl.group.Len() > 0 })
								h.Abort()
							}
						case e.ctx != nil:
							ctx, stop := long, context.CancelFunc(func() {})
							if c.ctx != nil {
								ctx, stop = c.ctx()
							}
							defer stop()
							errs <- e.ctx(ctx, hole.Addr().String())
						default:
							errs <- e.both(hole.Addr().String())
						}
						err := conntest.Receive(t, errs)
						if name == "DialHandlerFuture" && c.ctx != nil {
							return // sched.WithContext has given it up
						}
						requireOpError(t, err, "dial", err)
						for _, want := range c.want {
							require.ErrorIs(t, conn.Portable(err), want)
						}
						if !c.closes {
							conntest.Eventually(t, func() bool { return cl.group.Len() == 0 })
						}
					})
				}
			})
		})
	}
}

// The same of calls that make sockets for datagrams, and of those that listen.
func TestErrorsOfOtherEntrances(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		cl := newClient(t, backend, 2, false)
		cl.names.block, cl.names.began = make(chan struct{}), make(chan struct{}, 10)
		for name, dial := range map[string]func(cx *sched.Context) error{
			"DialPacket": func(cx *sched.Context) error {
				_, err := cl.DialPacket(cx, "udp", "name:1", packetEcho{})
				return err
			},
			"DialUDP": func(cx *sched.Context) error {
				_, err := cl.DialUDP(cx, "udp", "name:1")
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				errs := make(chan error, 1)
				h := sched.Go(cl.group.Runtime(), func(cx *sched.Context) (struct{}, error) {
					errs <- dial(cx)
					return struct{}{}, nil
				})
				conntest.Receive(t, cl.names.began)
				h.Abort()
				err := conntest.Receive(t, errs)
				requireOpError(t, err, "dial", err)
				require.ErrorIs(t, err, sched.ErrCanceled)
			})
		}
		s := &server.Server{Handler: echo{}, Backend: backend}
		require.NoError(t, s.Close())
		shut, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
		require.NoError(t, err)
		require.NoError(t, shut.Close())
		ln := conntest.Listen(t)
		for name, listen := range map[string]func(s *server.Server) error{
			"Listen": func(s *server.Server) error {
				_, err := s.Listen("tcp", "127.0.0.1:0")
				return err
			},
			"ListenStream": func(s *server.Server) error {
				_, err := s.ListenStream("tcp", "127.0.0.1:0")
				return err
			},
			"ListenUDP": func(s *server.Server) error {
				_, err := s.ListenUDP("udp", "127.0.0.1:0")
				return err
			},
			"ListenPacket": func(s *server.Server) error {
				_, err := s.ListenPacket("udp", "127.0.0.1:0")
				return err
			},
			"Group.Listen": func(*server.Server) error {
				_, err := shut.Listen(ln, echo{})
				return err
			},
			"Group.ListenSocket": func(*server.Server) error {
				_, err := shut.ListenSocket(conn.SocketListenerConfig{}, ln)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				for _, s := range []*server.Server{s, {Handler: echo{}, On: shut}} {
					err := listen(s)
					requireOpError(t, err, "listen", err)
					require.ErrorIs(t, err, net.ErrClosed)
				}
			})
		}
	})
}

// Calls in flight end when the workers stop without the end of their connection, also calls in
// tasks of other runtimes.
func TestCallsInFlightEndWithTheGroup(t *testing.T) {
	elsewhere := sched.New(sched.Config{Workers: 1})
	t.Cleanup(func() { require.NoError(t, elsewhere.Close()) })
	hole := conntest.NewHole(t, netip.MustParseAddrPort("127.0.0.1:0"))
	hole.Swallow(t)
	answers := listenEcho(t, "tcp", "127.0.0.1:0")
	for _, busy := range []bool{false, true} { // all connections to an address are in use
		names := map[string]entrance{}
		for name := range entrances(t, nil, nil) {
			if !busy || name == "Get" || name == "GetLease" || name == "GetStream" || name == "GetStream in a goroutine" {
				names[name] = entrance{}
			}
		}
		for name := range names {
			t.Run(name+map[bool]string{true: " of a connection in use"}[busy], func(t *testing.T) {
				g, err := conn.NewGroup(conn.Config{}, sched.Config{Workers: 1})
				require.NoError(t, err)
				d := &server.Dialer{Group: func() *conn.Group { return g }}
				p := &server.Pool{Dialer: *d, MaxConns: 1, BackOff: -1}
				defer p.Close()
				to, there := hole.Addr().String(), 1
				if busy {
					to, there = answers.Addr().String(), 1
					_, err := p.GetStream(t.Context(), "tcp", to)
					require.NoError(t, err)
				}
				errs := make(chan error, 1)
				e := entrances(t, d, p)[name]
				switch {
				case e.both != nil:
					require.NoError(t, g.Close())
					return // its handler is not called once the workers have stopped
				case e.task != nil:
					sched.Go(elsewhere, func(cx *sched.Context) (struct{}, error) {
						errs <- e.task(cx, to)
						return struct{}{}, nil
					}).Detach()
				default:
					go func() { errs <- e.ctx(context.Background(), to) }()
				}
				conntest.Eventually(t, func() bool { return g.Len() == there && (!busy || p.Stats().Waiting == 1) })
				require.NoError(t, g.Close())
				err = conntest.Receive(t, errs)
				requireOpError(t, err, "dial", err)
				require.ErrorIs(t, err, net.ErrClosed)
			})
		}
	}
}
