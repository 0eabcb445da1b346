//go:build unix

package conn_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// However a group ends, the calls that wait for its UnixStreams end with an error that matches
// net.ErrClosed: those of goroutines, and those of tasks of the group and of another runtime. Only
// Close of the group aborts its own tasks. Later calls fail at once, and the peers receive the end.
func TestAUnixStreamEndsWithItsGroup(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Guard(t) // no descriptor is left
		elsewhere := sched.New(sched.Config{Workers: 1})
		t.Cleanup(func() { require.NoError(t, elsewhere.Close()) })
		for name, end := range map[string]func(g *conn.Group) error{
			"Close":    func(g *conn.Group) error { return g.Close() },
			"Abort":    func(g *conn.Group) error { g.Abort(); return nil },
			"Drain":    func(g *conn.Group) error { g.Drain(); return nil },
			"Shutdown": func(g *conn.Group) error { return g.Shutdown(context.Background()) },
			"Stop":     func(g *conn.Group) error { return g.Stop(context.Background()) },
		} {
			t.Run(name, func(t *testing.T) {
				cfg := conn.Config{}
				cfg.Reactor = reactor.Config{Backend: backend}
				g, err := conn.NewGroup(cfg, sched.Config{Workers: 2})
				require.NoError(t, err)
				defer g.Close()
				calls := map[string]func(s *conn.UnixStream, ctx context.Context) error{
					"RecvFiles": func(s *conn.UnixStream, ctx context.Context) error {
						_, _, err := s.RecvFiles(ctx, make([]byte, 1))
						return err
					},
					"SendFiles": func(s *conn.UnixStream, ctx context.Context) error {
						_, err := s.SendFiles(ctx, make([]byte, 4<<20), nil)
						return err
					},
				}
				type result struct {
					call, by string
					err      error
				}
				ended := make(chan result, 100)
				began := make(chan bool, 100)
				var streams []*conn.UnixStream
				var peers []*net.UnixConn
				for call, f := range calls {
					for by, in := range map[string]func(f func(ctx context.Context)){
						"a goroutine":            func(f func(ctx context.Context)) { go f(context.Background()) },
						"a task":                 func(f func(ctx context.Context)) { goTask(g.Runtime(), f) },
						"another runtime's task": func(f func(ctx context.Context)) { goTask(elsewhere, f) },
					} {
						s, peer := unixStreams(t, &fixture{Group: g})
						streams, peers = append(streams, s), append(peers, peer)
						in(func(ctx context.Context) {
							began <- true
							ended <- result{call, by, f(s, ctx)}
						})
					}
				}
				for range streams {
					conntest.Receive(t, began)
				}
				require.NoError(t, end(g))
				for range streams {
					r := conntest.Receive(t, ended)
					if name == "Close" && r.by == "a task" {
						require.ErrorIs(t, r.err, sched.ErrCanceled, r.call)
						continue
					}
					require.ErrorIs(t, r.err, net.ErrClosed, "%s by %s", r.call, r.by)
					var oe *net.OpError
					require.ErrorAs(t, r.err, &oe, "%s by %s", r.call, r.by)
				}
				for i, s := range streams {
					_, err := io.Copy(io.Discard, peers[i])
					require.NoError(t, err, "the end, behind what was sent")
					_, _, err = s.TryRecvFiles(make([]byte, 1))
					require.ErrorIs(t, err, net.ErrClosed)
					_, err = s.TrySendFiles([]byte("x"), nil)
					require.ErrorIs(t, err, net.ErrClosed)
					for call, f := range calls {
						requireOpError(t, f(s, context.Background()), map[string]string{"RecvFiles": "read", "SendFiles": "write"}[call], net.ErrClosed)
					}
				}
			})
		}
	})
}

func TestADialOfAUnixStreamAfterTheGroupsEndMatchesErrClosed(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		cfg := conn.Config{}
		cfg.Reactor.Backend = backend
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 1})
		require.NoError(t, err)
		require.NoError(t, g.Close())
		_, err = g.DialUnix(t.Context(), conn.UnixDialConfig{Addr: &net.UnixAddr{Name: "nowhere", Net: "unix"}})
		requireOpError(t, err, "dial", net.ErrClosed)
	})
}

func goTask(rt *sched.Runtime, f func(ctx context.Context)) {
	sched.Go(rt, func(cx *sched.Context) (struct{}, error) {
		f(cx)
		return struct{}{}, nil
	}).Detach()
}
