package conn_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The server reads the byte in the connection's first run. Many receives are then armed by one
// system call, and the reset of each peer may come before, during or after that call.
func TestEveryPeerThatSendsAndResetsAtOnceIsNoticed(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		if conntest.Wine() {
			t.Skip("under Wine an AcceptEx fails whose client resets first, and its OnOpen never comes")
		}
		lasts := make(chan struct{}, 1)
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			if p, _ := c.Next(-1); string(p) == "last" {
				lasts <- struct{}{}
			}
			return nil
		}})
		n, clients := 3200, 16
		if testing.Short() {
			n = 800
		}
		conntest.Each(t, clients, func(int) error {
			for range n / clients {
				c, err := dial(f.addr)
				if err != nil {
					return err
				}
				_, err = c.Write([]byte("x"))
				reset(c)
				if err != nil {
					return err
				}
			}
			return nil
		})
		last := f.dial()
		write(t, last, "last")
		conntest.Receive(t, lasts) // it was accepted, and so were all that stood before it in the backlog
		require.NoError(t, last.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 }, "OnClose of every connection")
		require.Greater(t, f.audit.opened.Load(), int64(1))
		require.Equal(t, f.audit.opened.Load(), f.audit.closed.Load())
	})
}

// The reset of a peer whose connection is spliced is noticed although nothing is sent to that peer
// any more.
func TestEveryPeerOfASpliceThatSendsAndResetsAtOnceIsNoticed(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		p := newProxy(t, backend, workers)
		n, clients := 1600, 16
		if testing.Short() {
			n = 400
		}
		conntest.ServeEach(p.origin, func(_ int, c net.Conn) {
			defer c.Close()
			_, _ = c.Write([]byte("hello"))
			_, _ = io.Copy(io.Discard, c)
		})
		conntest.Each(t, clients, func(int) error {
			for range n / clients {
				c, err := dial(p.addr)
				if err != nil {
					return err
				}
				if _, err = io.ReadFull(c, make([]byte, 5)); err == nil { // it is spliced
					_, err = c.Write([]byte("x"))
				}
				reset(c)
				if err != nil {
					return err
				}
			}
			return nil
		})
		p.ended(n)
	})
}
