package conn_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A handler that never returns is named with its peer and its stack, beside a connection that
// waits. The report is there although all workers and spares are stuck.
func TestADumpNamesTheHandlersThatBlockAllWorkers(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		entered, release := make(chan net.Addr, 8), make(chan struct{})
		f.listen("tcp", "127.0.0.1:0", funcs{data: func(c *conn.Conn) error {
			holdUp(release, func() { entered <- c.RemoteAddr() })
			return nil
		}})
		defer close(release)
		quiet := f.dial()
		write(t, f.dial(), "x")
		peer := conntest.Receive(t, entered)
		var text string
		conntest.Eventually(t, func() bool { // a goroutine may be off the processor with a lock held
			text = f.report()
			return !strings.Contains(text, "busy")
		}, f.report)
		require.Contains(t, text, "group on "+backend+":")
		require.Regexp(t, `listener 127\.0\.0\.1:\d+ on worker 0`, text)
		require.Regexp(t, `(?s)worker 0: runs \S+ \(`+peer.String()+`\) for .*holdUp\(`, text)
		require.Regexp(t, `audited of `+peer.String()+`: its task runs or is queued; in 1, out 0, .*flags opened`, text)
		_ = quiet
	})
}

// holdUp tells that it is in, so that its caller's stack has it from then on.
func holdUp(release <-chan struct{}, in func()) {
	in()
	<-release
}

// unreadSize is more than the kernel takes for a peer that reads nothing.
const unreadSize = 32 << 20

func TestADumpShowsTheOutputThatWaits(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1, func(cfg *conn.Config) { cfg.MaxWrite = unreadSize })
		f.listen("tcp", "127.0.0.1:0", funcs{open: func(c *conn.Conn) error {
			_, err := c.Write(make([]byte, unreadSize))
			return err
		}})
		c := f.dial() // reads nothing
		defer c.Close()
		conntest.Eventually(t, func() bool {
			text := f.report()
			return strings.Contains(text, "its task waits") && !strings.Contains(text, "unsent 0")
		}, f.report)
	})
}
