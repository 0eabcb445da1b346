package conn_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestSendsFromManyGoroutinesDoNotInterleave(t *testing.T) {
	const senders, each = 50, 40
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, workers, funcs{open: func(c *conn.Conn) error { handles <- c.Handle(); return nil }})
		c := f.dial()
		h := conntest.Receive(t, handles)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			conntest.Each(t, senders, func(s int) error {
				for i := range each {
					// sender, number, length, and that many bytes of the sender
					p := make([]byte, 12+(s*31+i*97)%3000)
					binary.BigEndian.PutUint32(p, uint32(s))
					binary.BigEndian.PutUint32(p[4:], uint32(i))
					binary.BigEndian.PutUint32(p[8:], uint32(len(p)-12))
					copy(p[12:], bytes.Repeat([]byte{byte(s)}, len(p)-12))
					if err := h.Send(p); err != nil {
						return err
					}
					clear(p) // it was copied
				}
				return nil
			})
		}()
		next := make([]uint32, senders)
		for range senders * each {
			head := read(t, c, 12)
			s, i, n := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
			require.Less(t, s, uint32(senders))
			require.Equal(t, next[s], i, "order within sender %d", s)
			next[s]++
			require.Equal(t, bytes.Repeat([]byte{byte(s)}, int(n)), read(t, c, int(n)))
		}
		conntest.Receive(t, sent)
		require.NoError(t, h.Close())
		require.Empty(t, readEOF(t, c))
		require.NoError(t, c.Close())
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		for name, err := range map[string]error{
			"Send": h.Send([]byte("x")), "Do": h.Do(func(*conn.Conn) { t.Error("Do ran") }), "Close": h.Close(), "Abort": h.Abort(),
		} {
			require.ErrorIs(t, err, net.ErrClosed, name)
		}
	})
}

func TestTheZeroHandleIsHarmless(t *testing.T) {
	var h conn.Handle
	require.ErrorIs(t, h.Send(nil), net.ErrClosed)
	require.ErrorIs(t, h.Do(nil), net.ErrClosed)
	require.ErrorIs(t, h.Close(), net.ErrClosed)
	require.ErrorIs(t, h.Abort(), net.ErrClosed)
}

// The slot is the same, the connection is not.
func TestAStaleHandleNeverReachesTheNextConnectionInItsSlot(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, 2, funcs{data: echo, open: func(c *conn.Conn) error { handles <- c.Handle(); return nil }})
		var stale []conn.Handle
		slots := map[uint32]int{}
		for range 100 {
			c := f.dial()
			h := conntest.Receive(t, handles)
			slot, _ := h.Slot()
			slots[slot]++
			for _, old := range stale {
				require.NotEqual(t, old, h)
				require.ErrorIs(t, old.Send([]byte("stale")), net.ErrClosed)
				require.ErrorIs(t, old.Abort(), net.ErrClosed)
			}
			write(t, c, "mine")
			require.Equal(t, "mine", string(read(t, c, 4)))
			require.NoError(t, c.Close())
			conntest.Eventually(t, func() bool { return f.Len() == 0 })
			stale = append(stale, h)
		}
		require.Less(t, len(slots), 100, "no slot was used twice: nothing was shown")
	})
}

func TestSendKeepsItsOrderWithTheHandlersWrites(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 2, funcs{data: func(c *conn.Conn) error {
			_ = discard(c)
			h := c.Handle()
			_, _ = c.WriteString("1")
			if err := h.Send([]byte("4")); err != nil { // a command: after this run
				return err
			}
			if err := h.Do(func(c *conn.Conn) { _, _ = c.WriteString("5") }); err != nil {
				return err
			}
			_, _ = c.WriteString("2")
			_ = h.Send([]byte("6"))
			_, err := c.WriteString("3")
			return err
		}})
		c := f.dial()
		for range 100 {
			write(t, c, "x")
			require.Equal(t, "123456", string(read(t, c, 6)))
		}
	})
}

func TestCommandsBeforeCloseAreCarriedOutAndThoseAfterAreNot(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		gate := make(chan struct{})
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
			handles <- c.Handle()
			<-gate
			return nil
		}})
		c := f.dial()
		h := conntest.Receive(t, handles)
		require.NoError(t, h.Send(noise))
		require.NoError(t, h.Close())
		require.NoError(t, h.Send([]byte("too late"))) // it ends before this is sent
		close(gate)
		require.True(t, bytes.Equal(noise, readEOF(t, c)))
	})
}

func TestDoRunsOnTheConnectionsWorkerAndMayReadAndWrite(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		var inside atomic.Int32
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error { handles <- c.Handle(); return nil },
			data: func(*conn.Conn) error { return nil }, // leaves it to Do
		})
		c := f.dial()
		h := conntest.Receive(t, handles)
		write(t, c, "question")
		conntest.Each(t, 100, func(i int) error {
			return h.Do(func(c *conn.Conn) {
				if inside.Add(1) != 1 {
					t.Error("two at once")
				}
				if got := c.Group(); got != f.Group {
					t.Error("another group")
				}
				inside.Add(-1)
			})
		})
		text := make(chan string)
		conntest.Eventually(t, func() bool {
			require.NoError(t, h.Do(func(c *conn.Conn) {
				p, _ := c.Peek(-1)
				text <- string(p)
			}))
			return conntest.Receive(t, text) == "question"
		})
		require.NoError(t, h.Do(func(c *conn.Conn) {
			p, _ := c.Next(-1)
			_, _ = fmt.Fprintf(c, "%s?", p)
		}))
		require.Equal(t, "question?", string(read(t, c, 9)))
		require.NoError(t, h.Do(func(c *conn.Conn) { _ = c.Close() }))
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err)
	})
}
