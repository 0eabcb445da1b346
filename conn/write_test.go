package conn_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestWritesAfterCloseMatchNetErrClosed(t *testing.T) {
	onData(t, "x", func(t *testing.T, c *conn.Conn) {
		_ = c.Close()
		_, w := c.Write([]byte("x"))
		_, s := c.WriteString("x")
		_, v := c.Writev([][]byte{{'x'}})
		for i, err := range []error{w, s, v, c.SetReadDeadline(c.Now()), c.Close()} {
			var oe *net.OpError
			if !errors.Is(err, net.ErrClosed) || !errors.As(err, &oe) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if n := c.Unsent(); n != 0 {
			t.Errorf("%d bytes of them are queued", n)
		}
		if b := c.AvailableBuffer(7); len(b) != 0 || cap(b) < 7 {
			t.Errorf("AvailableBuffer: %d of %d bytes", len(b), cap(b))
		}
	})
}

func TestAFullWriteQueueTakesNothing(t *testing.T) {
	const most = 300 << 10
	conntest.Backends(t, func(t *testing.T, backend string) {
		var got error
		done := make(chan int, 1)
		f := serve(t, backend, 1, funcs{data: func(c *conn.Conn) error {
			for range 1000 {
				if _, got = c.Write(noise[:10<<10]); got != nil {
					break
				}
			}
			_, v := c.Writev([][]byte{noise[:1]})
			_, s := c.WriteString("x")
			got = errors.Join(got, v, s)
			done <- c.Unsent()
			return c.Close()
		}}, func(cfg *conn.Config) { cfg.MaxWrite = most })
		c := f.dial()
		write(t, c, "x")
		require.Equal(t, most, conntest.Receive(t, done))
		require.Equal(t, 3, strings.Count(got.Error(), conn.ErrWriteQueueFull.Error()))
		require.Len(t, readEOF(t, c), most)
	})
}

// Send is bounded by MaxWrite however fast the connection takes things over.
func TestSendToAPeerThatNeverReadsIsRefusedAtMaxWrite(t *testing.T) {
	const most = 1 << 20
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.SetWriteBuffer(16 << 10)
		}}, func(cfg *conn.Config) { cfg.MaxWrite = most })
		c := f.dial()
		h := conntest.Receive(t, handles)
		taken := 0
		var unsent atomic.Int64
		for taken < 64<<20 {
			err := h.Send(noise[:64<<10])
			if err != nil {
				require.ErrorIs(t, err, conn.ErrWriteQueueFull)
				break
			}
			taken += 64 << 10
			seen := make(chan struct{})
			require.NoError(t, h.Do(func(c *conn.Conn) { unsent.Store(int64(c.Unsent())); close(seen) }))
			conntest.Receive(t, seen) // the connection has taken it out of its inbox
		}
		require.Less(t, taken, 64<<20, "nothing refused")
		require.LessOrEqual(t, unsent.Load(), int64(most+64<<10))
		// The accepted bytes arrive, and then there is room again.
		_, err := io.CopyN(io.Discard, c, int64(taken))
		require.NoError(t, err)
		conntest.Eventually(t, func() bool { return h.Send([]byte("again")) == nil })
		require.Equal(t, "again", string(read(t, c, 5)))
	})
}

func TestNotifySentSaysWhenEverythingIsSent(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		var mu sync.Mutex
		var order []string
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, s)
		}
		handles, done := make(chan conn.Handle, 1), make(chan struct{})
		f := serve(t, backend, 2, funcs{data: func(c *conn.Conn) error {
			handles <- c.Handle()
			c.NotifySent(func(err error) {
				note(fmt.Sprintf("first %v, %d unsent", err, c.Unsent()))
				c.NotifySent(func(err error) { note(fmt.Sprint("nested ", err)); close(done) })
			})
			c.NotifySent(func(err error) { note(fmt.Sprint("second ", err)) })
			_, err := c.Write(make([]byte, 8<<20))
			return err
		}})
		c := f.dial()
		write(t, c, "x")
		h := conntest.Receive(t, handles)
		for range 3 { // runs of the connection before all is sent
			ran := make(chan struct{})
			require.NoError(t, h.Do(func(*conn.Conn) { close(ran) }))
			conntest.Receive(t, ran)
		}
		mu.Lock()
		require.Empty(t, order)
		mu.Unlock()
		_, err := io.CopyN(io.Discard, c, 8<<20)
		require.NoError(t, err)
		conntest.Receive(t, done)
		require.Equal(t, []string{"first <nil>, 0 unsent", "second <nil>", "nested <nil>"}, order)
	})
}
