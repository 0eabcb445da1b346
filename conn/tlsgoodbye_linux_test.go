package conn_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The peer has said close-notify and does not read, so there is no room for ours:
// Config.LingerTimeout bounds the wait, though nothing that the handler wrote is unsent.
func TestACloseNotifyThatIsNotTakenIsNotWaitedForForEver(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		closed, tell := ends(1)
		f := covered(t, backend, 2, s.server, funcs{data: echo, close: tell, eof: func(c *conn.Conn) error { return c.Close() }})
		c := f.dialTLS(s.client)
		_ = small(c.NetConn())
		write(t, c, "hello")
		require.Equal(t, "hello", string(read(t, c, 5)))
		fill(t, conn.From(f.Group, c.LocalAddr()).FD())
		require.NoError(t, c.CloseWrite(), "a close-notify, and no FIN")
		require.Error(t, conntest.Receive(t, closed), "what could not be sent is told")
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// fill writes to a socket, whose peer does not read, until the kernel takes no more for longer than
// the peer's kernel delays an acknowledgment.
func fill(t *testing.T, fd int) {
	t.Helper()
	took := time.Now()
	conntest.Eventually(t, func() bool {
		for {
			n, err := syscall.SendmsgN(fd, noise, nil, nil, syscall.MSG_DONTWAIT)
			switch {
			case err == syscall.EINTR:
			case err == syscall.EAGAIN:
				return time.Since(took) > 250*time.Millisecond
			case err != nil:
				require.NoError(t, err)
			case n > 0:
				took = time.Now()
			}
		}
	})
}
