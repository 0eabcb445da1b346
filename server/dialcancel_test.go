package server_test

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/packet"
	"github.com/suiro-go/suiro/sched"
	"github.com/suiro-go/suiro/server"
)

func TestTimeIsOverInEveryPhase(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		six, four := both(t)
		six.Swallow(t)
		four.Swallow(t)
		d := newClient(t, backend, workers, true)
		d.names.hosts["slow.test"] = []string{"::1", "127.0.0.1"}
		d.Timeout = 5 * time.Second
		for name, addr := range map[string]string{"resolving": "slow.test", "one address": "127.0.0.1", "several": "slow.test"} {
			t.Run(name, func(t *testing.T) {
				d, started := *d, make(chan struct{}, 10)
				d.Control = func(string, string, syscall.RawConn) error { started <- struct{}{}; return nil }
				if name == "resolving" {
					r := &names{hosts: d.names.hosts, block: make(chan struct{}), began: make(chan struct{}, 1)}
					d.Resolver, started = r, r.began
				}
				h := newTold()
				_, err := d.Start("tcp", at(addr, six.Port()), h)
				require.NoError(t, err)
				conntest.Receive(t, started)
				d.advance(5001 * time.Millisecond)
				err = h.failed(t)
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				var ne net.Error
				require.ErrorAs(t, err, &ne)
				require.True(t, ne.Timeout())
				conntest.Eventually(t, func() bool { return d.group.Len() == 0 })
			})
		}
	})
}

func TestADialThatIsCanceledInAnyPhaseLeavesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		six, four := both(t)
		six.Swallow(t)
		four.Swallow(t)
		d := newClient(t, backend, workers, false)
		d.FallbackDelay = 10 * time.Millisecond
		d.names.hosts["slow.test"] = []string{"::1", "127.0.0.1"}
		for name, addr := range map[string]string{"resolving": "slow.test", "one address": "127.0.0.1", "several": "slow.test"} {
			t.Run(name, func(t *testing.T) {
				before := sockets()
				d, started := *d, make(chan struct{}, 10)
				d.Control = func(string, string, syscall.RawConn) error { started <- struct{}{}; return nil }
				var r *names
				n := 1
				switch name {
				case "resolving":
					r = &names{hosts: d.names.hosts, block: make(chan struct{}), began: make(chan struct{}, 10)}
					d.Resolver, started = r, r.began
				case "several":
					n = 2
				}
				for form, dial := range map[string]func(context.Context, server.Handler) error{
					"Start": func(ctx context.Context, h server.Handler) error {
						handle, err := d.Start("tcp", at(addr, six.Port()), h)
						require.NoError(t, err)
						<-ctx.Done()
						require.NoError(t, handle.Close())
						require.ErrorIs(t, h.(*told).failed(t), net.ErrClosed)
						return nil
					},
					"DialHandler in a goroutine": func(ctx context.Context, h server.Handler) error {
						_, err := d.DialHandler(ctx, "tcp", at(addr, six.Port()), h)
						return err
					},
					"DialHandler": func(ctx context.Context, h server.Handler) error {
						task := sched.Go(d.group.Runtime(), func(cx *sched.Context) (server.Handle, error) {
							return d.DialHandler(cx, "tcp", at(addr, six.Port()), h)
						})
						<-ctx.Done()
						task.Abort()
						_, err := task.Wait(context.Background())
						return err
					},
				} {
					ctx, cancel := context.WithCancel(t.Context())
					h, ended := newTold(), make(chan error, 1)
					go func() { ended <- dial(ctx, h) }()
					for range n {
						conntest.Receive(t, started, form)
					}
					cancel()
					if err := conntest.Receive(t, ended, form); form != "Start" {
						require.ErrorIs(t, err, context.Canceled, form)
						require.Empty(t, h.closed, form)
					}
					require.Empty(t, h.opened, form)
					conntest.Eventually(t, func() bool { return d.group.Len() == 0 }, form)
					if r != nil {
						conntest.Receive(t, r.last.Done(), form, ": the resolver's context")
					}
					conntest.Eventually(t, func() bool { return sockets() == before }, form, ": descriptors left")
				}
			})
		}
	})
}

func TestAContextsDeadlineIsATimeout(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		_, four := both(t)
		four.Swallow(t)
		d := newClient(t, backend, 2, false)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		for range 2 { // while it runs, and when it is over
			_, err := d.DialHandler(ctx, "tcp", at("127.0.0.1", four.Port()), newTold())
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			var ne net.Error
			require.ErrorAs(t, err, &ne)
			require.True(t, ne.Timeout())
		}
		d.Deadline = time.Now().Add(-time.Second)
		_, err := d.Start("tcp", "127.0.0.1:1", newTold())
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

// A datagram socket waits for nothing once its address is known, and is still not made when the
// context has ended before.
func TestADatagramSocketIsNotMadeOnceTheContextIsOver(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		d := newClient(t, backend, workers, false)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		defer cancel()
		for want, ctx := range map[error]context.Context{context.Canceled: canceled, os.ErrDeadlineExceeded: late} {
			for name, dial := range map[string]func() error{
				"DialContext": func() error {
					_, err := d.DialContext(ctx, "udp", "127.0.0.1:9")
					return err
				},
				"DialPacket in a goroutine": func() error {
					_, err := d.DialPacket(ctx, "udp", "127.0.0.1:9", &packet.Sessions{})
					return err
				},
			} {
				err := dial()
				var op *net.OpError
				require.ErrorAs(t, err, &op, name)
				require.Equal(t, "dial", op.Op, name)
				require.ErrorIs(t, err, want, name)
			}
		}
	})
}
