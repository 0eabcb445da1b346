package conn_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestCloseWriteSendsFINAndReadingGoesOn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		got, second, writing := make(chan string, 100), make(chan error, 1), make(chan error, 1)
		closed, tell := ends(1)
		f := serve(t, backend, workers, funcs{close: tell,
			open: func(c *conn.Conn) error {
				if _, err := c.WriteString("last words"); err != nil {
					return err
				}
				if err := c.CloseWrite(); err != nil {
					return err
				}
				second <- c.CloseWrite()
				_, err := c.WriteString("too late")
				writing <- err
				return nil
			},
			data: func(c *conn.Conn) error {
				p, _ := c.Next(-1)
				got <- string(p)
				return nil
			},
			eof: func(*conn.Conn) error { return nil }, // both sides are done: it ends by itself
		})
		c := f.dial()
		require.Equal(t, "last words", string(readEOF(t, c)))
		require.ErrorIs(t, conntest.Receive(t, second), net.ErrClosed, "CloseWrite twice")
		require.ErrorIs(t, conntest.Receive(t, writing), net.ErrClosed)
		for _, word := range []string{"the", "reverse", "direction", "flows"} {
			write(t, c, word)
			require.Equal(t, word, conntest.Receive(t, got))
		}
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.NoError(t, conntest.Receive(t, closed))
	})
}

// Half-closed from the peer's side first, then from ours.
func TestCloseWriteAfterThePeersFINEndsTheConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, eof: func(c *conn.Conn) error {
			handles <- c.Handle()
			return nil
		}})
		c := f.dial()
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		h := conntest.Receive(t, handles)
		require.NoError(t, h.Do(func(c *conn.Conn) {
			_, _ = c.WriteString("goodbye")
			_ = c.CloseWrite()
		}))
		require.Equal(t, "goodbye", string(readEOF(t, c)))
		require.NoError(t, conntest.Receive(t, closed))
	})
}

func TestAResetAfterCloseWriteIsTheConnectionsError(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, open: (*conn.Conn).CloseWrite})
		c := f.dial()
		require.Empty(t, readEOF(t, c))
		reset(c)
		err := conntest.Receive(t, closed)
		if err != nil || !conntest.Wine() {
			requireOpError(t, err, "read")
		}
	})
}

func TestCloseAfterCloseWriteStillLingers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, open: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.CloseWrite()
		}})
		c := f.dial()
		h := conntest.Receive(t, handles)
		require.Empty(t, readEOF(t, c))
		require.NoError(t, h.Close())
		write(t, c, "is dropped") // and draws no reset
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.NoError(t, conntest.Receive(t, closed))
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestCloseReadDropsWhatComesAndWritingGoesOn(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		handles, second := make(chan conn.Handle, 1), make(chan error, 1)
		calls := make(chan int, 100)
		closed, tell := ends(1)
		f := serve(t, backend, workers, funcs{close: tell,
			data: func(c *conn.Conn) error {
				calls <- c.Buffered()
				if err := c.CloseRead(); err != nil {
					return err
				}
				if c.Buffered() != 0 {
					t.Error("something is left to be read")
				}
				second <- c.CloseRead()
				handles <- c.Handle()
				return nil
			},
			eof: func(*conn.Conn) error { t.Error("OnEOF"); return nil },
		})
		c := f.dial()
		write(t, c, "first")
		h := conntest.Receive(t, handles)
		require.ErrorIs(t, conntest.Receive(t, second), net.ErrClosed)
		for range 20 {
			write(t, c, noise[:200<<10]) // more than the kernel keeps: it is taken all the same
			require.NoError(t, h.Send([]byte("x")))
			require.Equal(t, "x", string(read(t, c, 1)))
		}
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
		require.NoError(t, h.Do(func(c *conn.Conn) { _ = c.CloseWrite() }))
		require.Empty(t, readEOF(t, c))
		require.NoError(t, conntest.Receive(t, closed))
		require.Len(t, calls, 1)
	})
}
