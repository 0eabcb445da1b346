package conn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// unread is n connections whose peers do not read, each with a handle.
func (f *fixture) unread(n int, handles chan conn.Handle) (all []conn.Handle) {
	for range n {
		small(f.dial())
		all = append(all, conntest.Receive(f.t, handles))
	}
	return all
}

// sendUntilFull sends until that is refused.
func sendUntilFull(t *testing.T, h conn.Handle) (sent int) {
	t.Helper()
	for err := error(nil); ; {
		if err = h.Send(noise[:16<<10]); err != nil {
			require.ErrorIs(t, err, conn.ErrWriteQueueFull)
			return sent
		}
		sent += 16 << 10
	}
}

func TestTheDefaultBoundOfAWriteQueueIsSmall(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.SetWriteBuffer(16 << 10)
		}})
		h := f.unread(1, handles)[0]
		require.Less(t, sendUntilFull(t, h), 8<<20, "4 MiB, and what the kernel takes")
	})
}

// Many connections that may each queue much have a bound together, below which nobody is
// refused, and which is free again when they have gone.
func TestAllWriteQueuesTogetherAreBounded(t *testing.T) {
	const conns, high, each, total = 30, 64 << 10, 1 << 20, 4 << 20
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, conns)
		f := serve(t, backend, 2, funcs{open: func(c *conn.Conn) error {
			handles <- c.Handle()
			return c.SetWriteBuffer(16 << 10)
		}}, func(cfg *conn.Config) {
			cfg.HighWater, cfg.MaxWrite, cfg.MaxWriteTotal = high, each, total
		})
		all := f.unread(conns, handles)
		for i, h := range all {
			require.GreaterOrEqual(t, sendUntilFull(t, h), high, "connection %d", i)
			require.LessOrEqual(t, f.Excess(), int64(total+16<<10))
		}
		require.GreaterOrEqual(t, f.Excess(), int64(total/2), "what is queued is counted")
		f.Abort()
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Zero(t, f.Excess())
	})
}

// The same for what handlers write, also of connections that are closing.
func TestTheBoundOfAllWriteQueuesHoldsForHandlers(t *testing.T) {
	const high, each, total = 64 << 10, 1 << 20, 2 << 20
	conntest.Backends(t, func(t *testing.T, backend string) {
		const conns = 12
		refused := make(chan error, conns)
		f := serve(t, backend, 2, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(16 << 10) },
			data: func(c *conn.Conn) error {
				if err := discard(c); err != nil {
					return err
				}
				for {
					if _, err := c.Write(noise[:8<<10]); err != nil {
						refused <- err
						return c.Close()
					}
				}
			},
		}, func(cfg *conn.Config) {
			cfg.HighWater, cfg.MaxWrite, cfg.MaxWriteTotal = high, each, total
		})
		for range conns {
			write(t, small(f.dial()), "go")
			require.ErrorIs(t, conntest.Receive(t, refused), conn.ErrWriteQueueFull)
		}
		require.LessOrEqual(t, f.Excess(), int64(total+3*each), "and what the runs under way add")
		require.GreaterOrEqual(t, f.Excess(), int64(total/2))
		f.Abort()
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
		require.Zero(t, f.Excess())
	})
}

func TestDoIsRefusedWhenTooManyWait(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles := make(chan conn.Handle, 1)
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error { handles <- c.Handle(); return nil }})
		f.dial()
		h := conntest.Receive(t, handles)
		const most = 1024
		called, release := 0, f.stick(0)
		for range most {
			require.NoError(t, h.Do(func(*conn.Conn) { called++ }))
		}
		require.ErrorIs(t, h.Do(func(*conn.Conn) { called++ }), conn.ErrTooManyCalls)
		release()
		done := make(chan int)
		conntest.Eventually(t, func() bool { return h.Do(func(*conn.Conn) { done <- called }) == nil })
		require.Equal(t, most, conntest.Receive(t, done))
	})
}

// Bytes that wait for a handshake count too.
func TestDoIsRefusedWhenTooManyWaitForAHandshake(t *testing.T) {
	s := newSecret(t)
	conntest.Backends(t, func(t *testing.T, backend string) {
		f := newFixture(t, backend, 1)
		silent := f.listen("tcp", "127.0.0.1:0", funcs{})
		h, err := f.Dial(silent.Addr(), conn.ConnectTLS(conn.TLSConfig{Config: s.client}, funcs{}))
		require.NoError(t, err)
		refused := func() bool { return h.Do(func(*conn.Conn) {}) == conn.ErrTooManyCalls }
		for tries := 0; !refused(); tries++ {
			require.Less(t, tries, 10_000, "nothing bounds it")
			if tries%100 == 0 {
				f.rounds(1) // the task takes them out of its inbox
			}
		}
	})
}
