package conn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// Peers that do not read cost a connection each, and not a line of the log each: one a second.
func TestResetsForMaxMemoryAreLoggedOnceASecond(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		const resets = 20
		closed, tell := ends(resets)
		begun := time.Now()
		f := serve(t, backend, 1, funcs{close: tell, data: func(c *conn.Conn) error {
			if _, err := c.Discard(-1); err != nil {
				return err
			}
			for range 16 { // more than the kernel takes for a peer that does not read
				if _, err := c.Write(noise); err != nil {
					return err
				}
			}
			return nil
		}}, func(cfg *conn.Config) { cfg.MaxMemory, cfg.MaxWrite = 1<<20, 64<<20 })
		for range resets { // one after the other: each is over the ceiling alone
			write(t, f.dial(), "x")
			require.ErrorIs(t, conntest.Receive(t, closed), conn.ErrShed)
		}
		lines := f.log.Count("MaxMemory is reached")
		require.Positive(t, lines)
		require.LessOrEqual(t, lines, 1+int(time.Since(begun)/time.Second))
	})
}
