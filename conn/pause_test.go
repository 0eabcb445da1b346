package conn_test

import (
	"bytes"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestAPausedReaderHearsNothingAndLosesNothing(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const n = 4 << 20
		var calls atomic.Int64
		var got bytes.Buffer // the handler's
		handles, all := make(chan conn.Handle, 1), make(chan struct{})
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error {
				handles <- c.Handle()
				return c.PauseRead()
			},
			data: func(c *conn.Conn) error {
				calls.Add(1)
				_, err := c.WriteTo(&got)
				return err
			},
			eof: func(c *conn.Conn) error {
				close(all)
				return c.Close()
			},
		})
		c := f.dial()
		h := conntest.Receive(t, handles)
		sent := make(chan error, 1)
		go func() {
			_, err := c.Write(append([]byte(nil), repeat(noise, n)...))
			if err == nil {
				err = c.(*net.TCPConn).CloseWrite()
			}
			sent <- err
		}()
		for range 5 {
			settled(t, h)
		}
		require.Zero(t, calls.Load(), "OnData while paused")
		require.NoError(t, h.Do(func(c *conn.Conn) { _ = c.ResumeRead() }))
		conntest.Receive(t, all)
		require.NoError(t, conntest.Receive(t, sent))
		require.True(t, bytes.Equal(repeat(noise, n), got.Bytes()))
	})
}

// A handler that pauses in the middle of what it has is called again with the rest,
// without more coming.
func TestResumeReadHasWhatWasLeftUnreadOffered(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		handles, pieces := make(chan conn.Handle, 10), make(chan string, 10)
		f := serve(t, backend, workers, funcs{data: func(c *conn.Conn) error {
			p, err := c.Next(3)
			if err != nil {
				return nil
			}
			pieces <- string(p)
			handles <- c.Handle()
			return c.PauseRead()
		}})
		c := f.dial()
		write(t, c, "onetwosix")
		for _, want := range []string{"one", "two", "six"} {
			require.Equal(t, want, conntest.Receive(t, pieces))
			h := conntest.Receive(t, handles)
			settled(t, h)
			require.Empty(t, pieces, "OnData while paused")
			require.NoError(t, h.Do(func(c *conn.Conn) { _ = c.ResumeRead() }))
		}
	})
}

func TestAPausedConnectionCanBeClosedAndAborted(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, end := range map[string]func(conn.Handle) error{"close": conn.Handle.Close, "abort": conn.Handle.Abort} {
			t.Run(name, func(t *testing.T) {
				handles := make(chan conn.Handle, 1)
				closed, tell := ends(1)
				f := serve(t, backend, 2, funcs{close: tell, open: func(c *conn.Conn) error {
					handles <- c.Handle()
					return c.PauseRead()
				}})
				c := f.dial()
				write(t, c, "unread")
				h := conntest.Receive(t, handles)
				settled(t, h)
				require.NoError(t, end(h))
				if name == "close" {
					require.NoError(t, c.(*net.TCPConn).CloseWrite())
					require.NoError(t, conntest.Receive(t, closed))
				} else {
					require.ErrorIs(t, conntest.Receive(t, closed), net.ErrClosed)
				}
			})
		}
	})
}

// A writer that stops at the high-water mark is told when it may go on.
func TestOnWritableComesOnceTheQueueHasFallenToLowWater(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const total, piece = 16 << 20, 64 << 10
		var written, resumed atomic.Int64
		fill := func(c *conn.Conn) error {
			for c.Unsent() <= 256<<10 && written.Load() < total {
				if _, err := c.Write(noise[:piece]); err != nil {
					return err
				}
				written.Add(piece)
			}
			if written.Load() == total {
				return c.Close()
			}
			return nil
		}
		f := serve(t, backend, workers, funcs{open: fill, writable: func(c *conn.Conn) error {
			resumed.Add(1)
			if c.Unsent() > 64<<10 {
				t.Errorf("%d bytes are unsent", c.Unsent())
			}
			return fill(c)
		}})
		c := f.dial()
		conntest.Eventually(t, func() bool { // before anything is read: else the socket might take all at once
			for i := range f.Connections() {
				return i.Unsent > 64<<10 // it may stop between the two marks, when the kernel has no more room
			}
			return false
		})
		require.Len(t, readEOF(t, c), total)
		require.Positive(t, resumed.Load())
	})
}

// settled waits until the connection has run after the last event that wakes it.
func settled(t *testing.T, h conn.Handle) {
	t.Helper()
	ran := make(chan struct{})
	require.NoError(t, h.Do(func(*conn.Conn) { close(ran) }))
	conntest.Receive(t, ran)
	time.Sleep(2 * time.Millisecond) // not for anything to happen, but for nothing to
}

func repeat(p []byte, n int) []byte { return bytes.Repeat(p, n/len(p)) }
