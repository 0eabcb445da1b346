package conn_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
	"github.com/suiro-go/suiro/internal/faults"
	"github.com/suiro-go/suiro/reactor"
	"github.com/suiro-go/suiro/sched"
)

// No task runs after a driver has failed, and nothing else of the group was asked for.
func TestTheContextOfAConnectionEndsWhenADriverFails(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		plan := conntest.Faults(t, faults.Rule{Call: faults.Wait, Errno: syscall.EBADF, Every: 100})
		cfg := conn.Config{Reactor: reactor.Config{Backend: backend}}
		faults.Into(&cfg.Reactor, plan)
		g, err := conn.NewGroup(cfg, sched.Config{Workers: 1})
		require.NoError(t, err)
		ln := conntest.Listen(t)
		contexts := make(chan context.Context, 1)
		l, err := g.Listen(ln, funcs{
			open: func(c *conn.Conn) error {
				contexts <- c.Context()
				return nil
			},
			data: func(c *conn.Conn) error { _, err := c.Next(-1); return err },
		})
		require.NoError(t, err)
		c, err := dial(l.Addr())
		require.NoError(t, err)
		defer c.Close()
		ctx := conntest.Receive(t, contexts)
		require.NoError(t, l.Close())
		conntest.Eventually(t, func() bool {
			_, err := c.Write([]byte("x"))
			if err != nil { // its socket is closed when the context has ended
				require.ErrorIs(t, err, syscall.ECONNRESET)
			}
			return ctx.Err() != nil
		})
		require.ErrorIs(t, context.Cause(ctx), net.ErrClosed)
		require.ErrorIs(t, g.Close(), syscall.EBADF)
	})
}
