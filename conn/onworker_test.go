package conn_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/sched"
)

// A handler's callback, and a sequential function, cannot wait for the group's end, nor otherwise.
func TestACallbackMustNotBlockItsWorker(t *testing.T) {
	type result struct {
		call string
		err  error
	}
	const calls = 6
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var f *fixture
		results := make(chan result, 100)
		misuse := func() {
			for call, do := range map[string]func(ctx context.Context) error{
				"conn.Group.Close":          func(context.Context) error { return f.Group.Close() },
				"conn.Group.Stop":           f.Stop,
				"conn.Group.Shutdown":       f.Shutdown,
				"conn.Group.ShutdownServed": f.ShutdownServed,
				"conn.Group.Wait":           f.Wait,
				"sched.Await": func(ctx context.Context) error {
					_, err := sched.Await(ctx, sched.NewCancellationToken().Canceled())
					return err
				},
			} {
				results <- result{call, do(context.Background())}
			}
		}
		refused := func(t *testing.T) {
			t.Helper()
			for range calls {
				r := conntest.Receive(t, results)
				require.ErrorIs(t, r.err, sched.ErrBlocksWorker, r.call)
				require.ErrorContains(t, r.err, r.call+" on worker ")
			}
		}
		f = newFixture(t, backend, workers)
		for name, h := range map[string]conn.Handler{
			"OnOpen":  funcs{open: func(*conn.Conn) error { misuse(); return nil }, data: echo},
			"OnData":  funcs{data: func(c *conn.Conn) error { misuse(); return echo(c) }},
			"OnEOF":   funcs{data: echo, eof: func(c *conn.Conn) error { misuse(); return c.Close() }},
			"OnClose": funcs{data: echo, close: func(*conn.Conn, error) { misuse() }},
			"sequential": conn.Sequential(func(_ *sched.Context, s *conn.Stream) error {
				misuse()
				_, err := io.Copy(s, s)
				return err
			}),
		} {
			t.Run(name, func(t *testing.T) {
				f.listen("tcp", "127.0.0.1:0", h)
				c := f.dial()
				_, err := io.WriteString(c, "ping")
				require.NoError(t, err)
				_, err = io.ReadFull(c, make([]byte, 4))
				require.NoError(t, err)
				require.NoError(t, c.Close())
				refused(t)
			})
		}
	})
}

// The calls of a Socket and its listener are for goroutines. On a worker they succeed only if they
// need not wait.
func TestACallOfASocketMustNotBlockAWorker(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := newFixture(t, backend, workers)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		l, err := f.ListenSocket(conn.SocketListenerConfig{}, ln)
		require.NoError(t, err)
		defer l.Close()
		require.NoError(t, ln.Close())
		onWorker := func(call func() error) error {
			errs := make(chan error, 1)
			f.on(0, func(*sched.Context) { errs <- call() })
			return conntest.Receive(t, errs)
		}
		refused := func(call string, f func() error) {
			t.Helper()
			err := onWorker(f)
			require.ErrorIs(t, err, sched.ErrBlocksWorker)
			require.ErrorContains(t, err, call+" on worker 0")
		}
		refused("conn.SocketListener.Accept", func() error { _, err := l.Accept(); return err })
		refused("conn.SocketListener.AcceptContext", func() error { _, err := l.AcceptContext(context.Background()); return err })
		refused("conn.Group.DialSocketContext", func() error {
			_, err := f.DialSocketContext(context.Background(), l.Addr())
			return err
		})
		refused("conn.Socket.WaitOpen", func() error { return conn.NewSocket().WaitOpen(context.Background()) })
		a, err := f.DialSocketContext(t.Context(), l.Addr())
		require.NoError(t, err)
		defer a.Close()
		b, err := l.AcceptContext(t.Context())
		require.NoError(t, err)
		defer b.Close()
		refused("conn.Socket.Read", func() error { _, err := a.Read(make([]byte, 1)); return err })
		refused("conn.Socket.Write", func() error { // b reads nothing
			for {
				if _, err := a.Write(make([]byte, 1<<20)); err != nil {
					return err
				}
			}
		})
		require.NoError(t, onWorker(func() error { return a.WaitOpen(context.Background()) }))
		_, err = io.ReadFull(b, make([]byte, 1<<10))
		require.NoError(t, err)
		require.NoError(t, onWorker(func() error { // bytes are there
			_, err := b.Read(make([]byte, 1))
			return err
		}))
	})
}

// A nil context is refused, with the call's name.
func TestASocketsCallsRefuseANilContext(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		var none context.Context
		_, err := f.DialSocketContext(none, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1})
		require.ErrorIs(t, err, sched.ErrMisuse)
		require.ErrorContains(t, err, "conn.Group.DialSocketContext: it is nil")
		err = conn.NewSocket().WaitOpen(none)
		require.ErrorIs(t, err, sched.ErrMisuse)
		require.ErrorContains(t, err, "conn.Socket.WaitOpen: it is nil")
	})
}
