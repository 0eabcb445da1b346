package conn_test

import (
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestResetByThePeerEndsTheConnectionWithECONNRESET(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed := make(chan error, 1)
		opened := make(chan struct{}, 1)
		var remote net.Addr
		f := serve(t, backend, 2, funcs{
			data: func(*conn.Conn) error { opened <- struct{}{}; return nil },
			eof:  func(*conn.Conn) error { t.Error("a reset is no EOF"); return nil },
			close: func(c *conn.Conn, err error) {
				remote = c.RemoteAddr()
				closed <- err
			},
		})
		c := f.dial()
		local := c.LocalAddr()
		write(t, c, "x")
		conntest.Receive(t, opened)
		reset(c)
		err := conntest.Receive(t, closed)
		requireOpError(t, err, "read", syscall.ECONNRESET)
		var se *os.SyscallError
		require.ErrorAs(t, err, &se)
		require.Equal(t, local.String(), remote.String(), "the peer's address after a reset")
		require.Contains(t, err.Error(), local.String())
	})
}

func TestQueuedWritesFailBeforeOnCloseAfterAReset(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var order []string // by the connection's worker, read after OnClose
		var first, second error
		blocked, closed := make(chan struct{}), make(chan error, 1)
		f := serve(t, backend, 2, funcs{
			data: func(c *conn.Conn) error {
				defer close(blocked)
				c.NotifySent(func(err error) { order, first = append(order, "first"), err })
				c.NotifySent(func(err error) { order, second = append(order, "second"), err })
				_, err := c.Write(make([]byte, 16<<20)) // more than the peer's buffers
				return err
			},
			close: func(_ *conn.Conn, err error) { order = append(order, "OnClose"); closed <- err },
		})
		c := f.dial()
		write(t, c, "x")
		conntest.Receive(t, blocked)
		reset(c)
		err := conntest.Receive(t, closed)
		require.True(t, isReset(err), "%v", err) // of the receive and the send, the kernel tells one
		require.Equal(t, []string{"first", "second", "OnClose"}, order)
		require.Equal(t, err, first)
		require.Equal(t, err, second)
	})
}

func TestWritingToAClosedPeerIsAnErrorAndNoSignal(t *testing.T) {
	for _, network := range conntest.Networks(t, "tcp", "unix") {
		t.Run(network, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				pipes := make(chan os.Signal, 1)
				signal.Notify(pipes, syscall.SIGPIPE)
				defer signal.Stop(pipes)
				handles := make(chan conn.Handle, 1)
				closed, tell := ends(1)
				f := newFixture(t, backend, 2)
				addr := "127.0.0.1:0"
				if network == "unix" {
					addr = t.TempDir() + "/s"
				}
				f.listen(network, addr, funcs{close: tell,
					open: func(c *conn.Conn) error { handles <- c.Handle(); return nil },
					eof:  func(*conn.Conn) error { return nil }, // goes on writing
				})
				c := f.dial()
				h := conntest.Receive(t, handles)
				require.NoError(t, c.Close())
				conntest.Eventually(t, func() bool { return h.Send([]byte("anybody?")) != nil })
				err := conntest.Receive(t, closed)
				require.True(t, isReset(err), "%v", err)
				var op *net.OpError
				require.ErrorAs(t, err, &op)
				require.Contains(t, []string{"read", "write"}, op.Op, "the watch may see the reset before a write does")
				require.ErrorIs(t, h.Send([]byte("nobody")), net.ErrClosed)
				select {
				case s := <-pipes:
					t.Fatal(s)
				default:
				}
			})
		})
	}
}

// Close after the peer's reset: no error worth telling, and no wait for the FIN.
func TestResetDuringAnOrderlyCloseEndsIt(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error { return c.Close() }})
		c := f.dial()
		write(t, c, "x")
		require.Empty(t, readEOF(t, c))
		reset(c)
		require.NoError(t, conntest.Receive(t, closed))
	})
}

func TestAbortResetsThePeerAndUnsentBytesFail(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		sent, closed := make(chan error, 1), make(chan error, 1)
		f := serve(t, backend, 2, funcs{
			data: func(c *conn.Conn) error {
				c.NotifySent(func(err error) { sent <- err })
				if _, err := c.Write(make([]byte, 16<<20)); err != nil {
					return err
				}
				return c.Handle().Abort()
			},
			close: func(_ *conn.Conn, err error) { closed <- err },
		})
		c := f.dial()
		write(t, c, "x")
		require.ErrorIs(t, conntest.Receive(t, sent), net.ErrClosed)
		require.ErrorIs(t, conntest.Receive(t, closed), net.ErrClosed)
		_, err := io.Copy(io.Discard, c)
		requireReset(t, err)
	})
}
