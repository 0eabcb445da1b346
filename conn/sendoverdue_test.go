package conn_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Handle.Send has no error for it, and nothing may be sent after the bytes that were left out.
func TestASendAfterTheWriteDeadlineEndsTheConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		closed, onClose := ends(1)
		f := serve(t, backend, 1, funcs{close: onClose, open: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.SetWriteDeadline(c.Now())
		}})
		peer := f.dial()
		h := conntest.Receive(t, handles)
		require.NoError(t, h.Send(nil)) // nothing is left out
		settled(t, h)
		require.NoError(t, h.Send([]byte("left out")))
		_ = h.Do(func(c *conn.Conn) { // if the connection is still there
			_ = c.SetWriteDeadline(time.Time{})
			_, _ = c.WriteString("and more")
			_ = c.Close()
		})
		got, err := io.ReadAll(peer)
		require.Empty(t, got)
		require.True(t, isReset(err), "%v", err)
		require.ErrorIs(t, conntest.Receive(t, closed), os.ErrDeadlineExceeded)
	})
}
