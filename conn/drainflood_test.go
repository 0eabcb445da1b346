package conn_test

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A drain looks after 100 ms whether the peer has taken everything. A peer that has not, and
// floods the connection, has the time of Config.LingerTimeout to take the answer, as any other.
func TestADrainDoesNotCutTheAnswerToAClientThatFloods(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what the peer has acknowledged is known on Linux alone: see floodLinger")
	}
	const answer = 128 << 10
	conntest.Backends(t, func(t *testing.T, backend string) {
		draining, first := make(chan struct{}), true
		f := serve(t, backend, 2, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(4 * answer) },
			data: func(c *conn.Conn) error {
				if _, err := c.Discard(-1); err != nil || !first {
					return err
				}
				first = false
				_, err := c.Write(noise[:answer])
				return err
			},
			drain: func(c *conn.Conn) {
				_ = c.Close()
				close(draining)
			},
		}, func(cfg *conn.Config) { cfg.LingerTimeout = time.Hour })
		c := f.dial()
		require.NoError(t, c.(*net.TCPConn).SetReadBuffer(16<<10))
		write(t, c, "me")
		conntest.Eventually(t, func() bool { // the kernel has all of it, and can then be told the end
			for i := range f.Connections() {
				return i.Sent >= answer && i.Unsent == 0
			}
			return false
		})
		stopped := make(chan error, 1)
		go func() { stopped <- f.Shutdown(context.Background()) }()
		conntest.Receive(t, draining)
		flooded := make(chan int, 1)
		go func() { flooded <- flood(c) }()
		conntest.Eventually(t, func() bool {
			for i := range f.Connections() {
				return i.Received > conn.MaxDropped
			}
			return false
		})
		time.Sleep(10 * conn.DrainLinger) // the client pauses: no condition tells that nothing happens
		require.Equal(t, noise[:answer], read(t, c, answer))
		requireBounded(t, conntest.Receive(t, flooded))
		require.NoError(t, conntest.Receive(t, stopped))
	})
}
