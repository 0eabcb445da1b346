package conn_test

import (
	"bytes"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

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
			four := []byte("4")
			if err := h.Send(four); err != nil { // a command: after this run
				return err
			}
			clear(four) // it was copied
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
