package conn_test

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// shutDown begins a shutdown with all the time it needs, and returns once the handlers are drained.
func shutDown(t *testing.T, f *fixture, drained chan bool) chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f.Shutdown(context.Background()) }()
	conntest.Receive(t, drained)
	return ended
}

// baseDrain is what Base does, and tells.
func baseDrain(drained chan bool) func(*conn.Conn) {
	return func(c *conn.Conn) {
		conn.Base{}.OnDrain(c)
		drained <- true
	}
}

// The handler is not offered a request while the peer takes none of the answer to an earlier one.
func TestARequestBehindALongAnswerIsServedAtAShutdownIfThePeerTakesTheAnswer(t *testing.T) {
	const answer = 1 << 20
	held := func(t *testing.T, backend string, linger time.Duration) (net.Conn, chan error, chan error) {
		closed, tell := ends(1)
		drained := make(chan bool, 1)
		f := serve(t, backend, 1, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(4096) },
			data: func(c *conn.Conn) error {
				if _, err := c.Discard(-1); err != nil {
					return err
				}
				_, err := c.Write(make([]byte, answer))
				return err
			},
			drain: baseDrain(drained), close: tell,
		}, func(cfg *conn.Config) { cfg.LingerTimeout, cfg.MaxWrite = linger, 2*answer })
		c := small(f.dial())
		write(t, c, "one")
		conntest.Eventually(t, func() bool {
			for i := range f.Connections() {
				return i.Unsent > answer/2
			}
			return false
		})
		write(t, c, "two")
		return c, closed, shutDown(t, f, drained)
	}
	t.Run("it does", func(t *testing.T) {
		conntest.Backends(t, func(t *testing.T, backend string) {
			c, _, ended := held(t, backend, time.Hour)
			require.Len(t, readEOF(t, c), 2*answer)
			require.NoError(t, c.Close())
			require.NoError(t, conntest.Receive(t, ended))
		})
	})
	t.Run("it does not", func(t *testing.T) {
		conntest.Backends(t, func(t *testing.T, backend string) {
			c, closed, ended := held(t, backend, shortLinger)
			require.ErrorIs(t, conntest.Receive(t, closed), os.ErrDeadlineExceeded)
			require.NoError(t, conntest.Receive(t, ended))
			_, err := io.Copy(io.Discard, c)
			requireReset(t, err)
		})
	})
}

// Memory that another connection has may be free only at its end: a request that waits for memory
// is given up.
func TestARequestThatWaitsForMemoryDoesNotHoldAShutdown(t *testing.T) {
	const ceiling, answer = 4 << 20, 4<<20 - 4<<20/10
	conntest.Backends(t, func(t *testing.T, backend string) {
		opened, drained := make(chan struct{}, 2), make(chan bool, 2)
		f := serve(t, backend, 1, funcs{
			open: func(c *conn.Conn) error {
				opened <- struct{}{}
				return c.SetWriteBuffer(4096)
			},
			data: func(c *conn.Conn) error {
				if _, err := c.Discard(-1); err != nil {
					return err
				}
				_, err := c.Write(make([]byte, answer))
				return err
			},
			drain: baseDrain(drained),
		}, func(cfg *conn.Config) { cfg.LingerTimeout, cfg.MaxMemory, cfg.MaxWrite = time.Hour, ceiling, ceiling })
		greedy, waits := small(f.dial()), small(f.dial())
		conntest.Receive(t, opened)
		conntest.Receive(t, opened)
		write(t, greedy, "much")
		conntest.Eventually(t, func() bool { return f.Buffered() > answer/2 })
		write(t, waits, "little")
		ended := shutDown(t, f, drained)
		conntest.Receive(t, drained)
		require.Empty(t, readEOF(t, waits), "it has got memory: nothing is shown")
		_ = waits.Close()
		require.Len(t, readEOF(t, greedy), answer)
		_ = greedy.Close()
		require.NoError(t, conntest.Receive(t, ended))
	})
}
