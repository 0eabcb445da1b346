package conn_test

import (
	"context"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A traced log keeps the stack of the goroutine that logs a reset.
type traced struct {
	slog.Handler
	stacks chan string
}

func (l traced) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "MaxMemory is reached") {
		l.stacks <- string(debug.Stack())
	}
	return l.Handler.Handle(ctx, r)
}

// The end of a send may show that waiting for memory would not help. It is dealt with under the
// lock of a driver: a slow logger must not keep the completions of other connections there.
func TestAResetForMaxMemoryIsNotLoggedUnderALock(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		stacks := make(chan string, 10)
		closed, tell := ends(10)
		handles := make(chan conn.Handle, 10)
		f := newFixture(t, backend, 1, func(cfg *conn.Config) {
			cfg.HighWater, cfg.MaxMemory = 64<<10, 128<<10
			cfg.Logger = slog.New(traced{cfg.Logger.Handler(), stacks})
		})
		l := f.listen("tcp", "127.0.0.1:0", funcs{close: tell, data: keep, open: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.SetWriteBuffer(4096)
		}})
		full := f.dial()
		conntest.Receive(t, handles)
		slow := f.dial()
		require.NoError(t, slow.(*net.TCPConn).SetReadBuffer(4096))
		h := conntest.Receive(t, handles)
		for _, n := range []int{90, 98} { // more than three quarters of the limit
			write(t, full, noise[:n<<10-f.Buffered()])
			conntest.Eventually(t, func() bool { return f.Buffered() == n<<10 })
		}
		sent := 0
		for f.Buffered() < 110<<10 { // until the kernel takes no more
			require.NoError(t, h.Send(noise[:4096]))
			sent += 4096
			f.rounds(2)
		}
		f.dial()
		conntest.Eventually(t, l.InLine)
		require.Empty(t, stacks)
		read(t, slow, sent)
		require.ErrorIs(t, conntest.Receive(t, closed), conn.ErrShed)
		require.NotContains(t, conntest.Receive(t, stacks), "engine.(*Driver).pass")
	})
}
