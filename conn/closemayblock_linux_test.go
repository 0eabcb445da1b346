package conn_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Accepted sockets have SO_LINGER from their listener, and then a close may block: Go's scheduler
// has to know.
func TestTheSchedulerIsToldOfAClosingThatMayBlock(t *testing.T) {
	for _, linger := range []bool{false, true} {
		conntest.Backends(t, func(t *testing.T, backend string) {
			f := newFixture(t, backend, 1)
			lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
				return raw.Control(func(fd uintptr) {
					if linger {
						_ = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 1})
					}
				})
			}}
			ln, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { _ = ln.Close() })
			mayBlock := make(chan bool, 1)
			l, err := f.Listen(ln, f.audit.of(funcs{open: func(c *conn.Conn) error { mayBlock <- c.ClosingMayBlock(); return nil }}))
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
			f.addr = l.Addr()
			_ = f.dial()
			require.Equal(t, linger, conntest.Receive(t, mayBlock))
		})
	}
}
