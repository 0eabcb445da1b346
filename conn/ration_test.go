package conn_test

import (
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC() // once: what pools of package sync have survives it
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The buffers of readers that took nothing are not kept once they have gone, except as many as the
// workers' pools may keep.
func TestPoolsKeepLittleOfTheCeilingWhenTheLoadHasGone(t *testing.T) {
	const ceiling, answer, readers = 64 << 20, 1 << 20, 40
	conntest.Backends(t, func(t *testing.T, backend string) {
		var asked atomic.Int64
		f := serve(t, backend, 2, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
			data: func(c *conn.Conn) error {
				if err := discard(c); err != nil {
					return err
				}
				_, err := c.Write(noise[:answer])
				asked.Add(1)
				return err
			},
		}, func(cfg *conn.Config) { cfg.MaxMemory = ceiling })
		before := heapInUse()
		for range readers {
			write(t, small(f.dial()), "go")
		}
		conntest.Eventually(t, func() bool { return asked.Load() == readers && f.Buffered() > ceiling/2 })
		f.Abort()
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		conntest.Eventually(t, func() bool { return heapInUse()-before < ceiling/4 }, "an eighth for the workers, and no huge buffers")
	})
}

// The pools give back while connections remain, as soon as these hold nothing.
func TestPoolsKeepLittleOfTheCeilingWhenConnectionsAreIdleAgain(t *testing.T) {
	const ceiling, answer, readers = 64 << 20, 1 << 20, 44
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := serve(t, backend, 2, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
			data: func(c *conn.Conn) error {
				if err := discard(c); err != nil {
					return err
				}
				_, err := c.Write(noise[:answer])
				return err
			},
		}, func(cfg *conn.Config) { cfg.MaxMemory, cfg.WriteTimeout = ceiling, 4*conntest.Patience })
		before := heapInUse()
		conns := make([]net.Conn, readers)
		for i := range conns {
			conns[i] = small(f.dial())
			write(t, conns[i], "go")
		}
		conntest.Eventually(t, func() bool { return f.Buffered() > ceiling/2 })
		conntest.Crowd(t, readers, readers, func(i int) error {
			_, err := io.CopyN(io.Discard, conns[i], answer)
			return err
		})
		conntest.Eventually(t, func() bool { return f.Buffered() == 0 })
		require.Equal(t, readers, f.Len())
		conntest.Eventually(t, func() bool { return heapInUse()-before < ceiling/4 }, "an eighth for the workers, and one for huge buffers")
	})
}
