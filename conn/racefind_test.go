package conn_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// One of Addrs wins while Find still looks for more: that it then answers that it was
// canceled does no harm to the connection.
func TestAnAnswerOfFindThatComesAfterTheRaceIsIgnored(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{data: echo})
		for range 5 {
			got, ends := make(chan string, 1), make(chan error, 1)
			h, err := f.DialWith(&conn.DialConfig{
				Addrs:  []net.Addr{full(t), f.addr},
				Delay:  1, // the least
				Target: f.addr,
				Find: func(found func([]net.Addr, error)) func() {
					return func() { found(nil, context.Canceled) }
				},
			}, f.audit.of(funcs{
				open: func(c *conn.Conn) error {
					_, err := c.Write([]byte("x"))
					return err
				},
				data: func(c *conn.Conn) error {
					p, _ := c.Next(-1)
					got <- string(p)
					return nil
				},
				close: func(_ *conn.Conn, err error) {
					got <- "the end"
					ends <- err
				},
			}))
			require.NoError(t, err)
			require.Equal(t, "x", conntest.Receive(t, got))
			require.NoError(t, h.Send([]byte("y")))
			require.Equal(t, "y", conntest.Receive(t, got))
			require.NoError(t, h.Close())
			require.NoError(t, conntest.Receive(t, ends))
		}
	})
}
