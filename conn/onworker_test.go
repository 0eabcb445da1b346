package conn_test

import (
	"context"
	"io"
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
				"sched.Wait": func(ctx context.Context) error {
					_, err := sched.Wait(ctx, sched.NewCancellationToken().Canceled())
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
