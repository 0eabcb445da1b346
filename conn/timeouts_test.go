package conn_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// take reads the next n bytes and drops them.
func take(c net.Conn, n int) error {
	got, err := io.CopyN(io.Discard, c, int64(n))
	if err != nil {
		return fmt.Errorf("read %d of %d bytes: %w", got, n, err)
	}
	return nil
}

// Closed when nothing comes, and each byte puts that off.
func TestAnIdleConnectionEndsAndTrafficExtendsItsTime(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		conntest.Punctual(t, 150*time.Millisecond, func(idle time.Duration, alive func()) error {
			closed, tell := ends(2)
			f := serve(t, backend, workers, funcs{close: tell, data: echo},
				func(cfg *conn.Config) { cfg.IdleTimeout = idle })
			c := f.dial()
			var last time.Time // no byte is received before it is sent
			for start := time.Now(); time.Since(start) < 2*idle; time.Sleep(idle / 30) {
				last = time.Now()
				if err := errors.Join(writeAll(c, []byte("x")), take(c, 1)); err != nil {
					return err
				}
				alive()
			}
			require.Empty(t, readEOF(t, c)) // an orderly close
			// A worker's clock is a little behind.
			if early := time.Since(last); early <= idle/2 {
				return fmt.Errorf("it ended %v after the last byte", early)
			}
			require.NoError(t, c.Close())
			requireOpError(t, conntest.Receive(t, closed), "idle", os.ErrDeadlineExceeded)
			return nil
		})
	})
}

// A peer that takes a long answer slowly is not idle.
func TestSendingIsTrafficToo(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		conntest.Punctual(t, 100*time.Millisecond, func(idle time.Duration, alive func()) error {
			const n = 6 << 20
			closed, tell := ends(1)
			f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
				_ = discard(c)
				_, err := c.Write(make([]byte, n))
				return err
			}}, func(cfg *conn.Config) { cfg.IdleTimeout = idle })
			c := f.dial()
			require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10)) // before anything comes, else it may be dropped, and sent again after 200 ms
			write(t, c, "x")
			for got := 0; got < n; got += 256 << 10 {
				if err := take(c, 256<<10); err != nil {
					return err
				}
				alive()
				time.Sleep(idle / 5)
			}
			require.Empty(t, readEOF(t, c))
			require.NoError(t, c.Close())
			require.ErrorIs(t, conntest.Receive(t, closed), os.ErrDeadlineExceeded)
			return nil
		})
	})
}

func TestSetIdleTimeoutChangesItForOneConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(2)
		f := serve(t, backend, 2, funcs{close: tell, data: echo, open: func(c *conn.Conn) error { return c.SetIdleTimeout(0) }},
			func(cfg *conn.Config) { cfg.IdleTimeout = 10 * time.Millisecond })
		c := f.dial()
		time.Sleep(50 * time.Millisecond) // not for anything to happen, but for nothing to
		write(t, c, "x")
		read(t, c, 1)
		require.Empty(t, closed)
	})
}

func TestAPeerThatTakesNothingIsResetAfterTheWriteTimeout(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		closed, tell := ends(1)
		f := serve(t, backend, workers, funcs{close: tell, open: func(c *conn.Conn) error {
			_, err := c.Write(make([]byte, 12<<20))
			return err
		}}, func(cfg *conn.Config) { cfg.WriteTimeout = 100 * time.Millisecond })
		f.dial() // and never read
		requireOpError(t, conntest.Receive(t, closed), "write", os.ErrDeadlineExceeded)
	})
}

func TestAPeerThatGoesOnTakingOutlivesTheWriteTimeout(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		limit := 200 * time.Millisecond
		if conntest.Wine() {
			limit *= 10 // it is slow, and on a busy machine slower
		}
		conntest.Punctual(t, limit, func(limit time.Duration, alive func()) error {
			const n = 8 << 20
			closed, tell := ends(1)
			f := serve(t, backend, 2, funcs{close: tell, data: func(c *conn.Conn) error {
				_ = discard(c)
				_, err := c.Write(make([]byte, n))
				return errors.Join(err, c.CloseWrite())
			}}, func(cfg *conn.Config) { cfg.WriteTimeout = limit })
			c := f.dial()
			require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10)) // before anything comes, else it may be dropped, and sent again after 200 ms
			write(t, c, "x")
			for got := 0; got < n; got += 512 << 10 { // much longer than the limit in all
				if err := take(c, 512<<10); err != nil {
					return err
				}
				alive()
				time.Sleep(limit / 5)
			}
			require.Empty(t, readEOF(t, c))
			require.NoError(t, c.Close())
			require.NoError(t, conntest.Receive(t, closed))
			return nil
		})
	})
}

func TestTheWriteDeadlineEndsAConnectionWithBytesUnsent(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := serve(t, backend, 2, funcs{close: tell, open: func(c *conn.Conn) error {
			_, err := c.Write(make([]byte, 12<<20))
			return errors.Join(err, c.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		}})
		f.dial()
		requireOpError(t, conntest.Receive(t, closed), "write", os.ErrDeadlineExceeded)
	})
}

func TestWritesFailFromTheWriteDeadlineUntilItIsMoved(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles, results := make(chan conn.Handle, 1), make(chan error, 2)
		f := serve(t, backend, 2, funcs{open: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.SetWriteDeadline(time.Now().Add(-time.Second))
		}})
		c := f.dial()
		h := conntest.Receive(t, handles)
		require.NoError(t, h.Do(func(c *conn.Conn) {
			_, err := c.WriteString("late")
			results <- err
			_ = c.SetWriteDeadline(time.Time{})
			_, err = c.WriteString("in time")
			results <- err
			_ = c.Close()
		}))
		requireOpError(t, conntest.Receive(t, results), "write", os.ErrDeadlineExceeded)
		require.NoError(t, conntest.Receive(t, results))
		require.Equal(t, "in time", string(readEOF(t, c)))
	})
}

func TestTheHandleKnowsThePeerUntilTheConnectionEnds(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, 2, funcs{open: func(c *conn.Conn) error { handles <- c.Handle(); return nil }})
		c := f.dial()
		h := conntest.Receive(t, handles)
		require.Equal(t, c.LocalAddr().String(), h.RemoteAddr().String())
		require.NoError(t, h.Abort())
		conntest.Eventually(t, func() bool { return h.RemoteAddr() == nil })
		require.Nil(t, conn.Handle{}.RemoteAddr())
	})
}

func TestValueOfIsTheConnectionsValueAsAType(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		type session struct{ user string }
		checked := make(chan struct{})
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
			defer close(checked)
			if _, ok := conn.ValueOf[*session](c); ok {
				t.Error("a value before one was set")
			}
			c.SetValue(&session{"me"})
			if s, ok := conn.ValueOf[*session](c); !ok || s.user != "me" {
				t.Errorf("got %v, %v", s, ok)
			}
			if _, ok := conn.ValueOf[string](c); ok {
				t.Error("a value of another type")
			}
			return nil
		}})
		f.dial()
		conntest.Receive(t, checked)
	})
}
