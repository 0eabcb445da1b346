package conn_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// One run of the task takes a Do and the end that was asked for after it. The function makes the
// context first, and blocks until the context ends.
func TestAContextMadeBetweenTheRequestAndTheEndHasEnded(t *testing.T) {
	for name, end := range map[string]func(h conn.Handle) error{"Close": conn.Handle.Close, "Abort": conn.Handle.Abort} {
		for by, made := range map[string]func(c *conn.Conn) context.Context{
			"the task": (*conn.Conn).Context,
			"a goroutine": func(c *conn.Conn) context.Context {
				h, made := c.Handle(), make(chan context.Context)
				go func() { made <- h.Context() }()
				return <-made
			},
		} {
			t.Run(name+", made by "+by, func(t *testing.T) {
				conntest.Backends(t, func(t *testing.T, backend string) {
					causes := make(chan error, 1)
					f := serve(t, backend, 2, funcs{data: func(c *conn.Conn) error {
						_, _ = c.Next(-1)
						h := c.Handle()
						if err := h.Do(func(c *conn.Conn) {
							ctx := made(c)
							<-ctx.Done()
							causes <- context.Cause(ctx)
						}); err != nil {
							return err
						}
						return end(h)
					}})
					c := f.dial()
					write(t, c, "x")
					require.ErrorIs(t, conntest.Receive(t, causes), net.ErrClosed)
					_ = c.Close()
				})
			})
		}
	}
}
