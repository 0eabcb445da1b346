package conn_test

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// A kernel has room for megabytes of sent data, and asks for more only when a good part has gone. A
// peer that takes little at a time, but always some, is no less alive in between: it is neither
// overdue, nor idle, nor waited for in vain.
func TestAPeerThatTakesLittleAtATimeOutlivesEveryLimit(t *testing.T) {
	const answer, piece, pieces = 12 << 20, 64 << 10, 40
	limits := map[string]struct {
		set   func(cfg *conn.Config, limit time.Duration)
		after func(c *conn.Conn) error
	}{
		"write":  {set: func(cfg *conn.Config, limit time.Duration) { cfg.WriteTimeout = limit }},
		"idle":   {set: func(cfg *conn.Config, limit time.Duration) { cfg.IdleTimeout = limit }},
		"linger": {func(cfg *conn.Config, limit time.Duration) { cfg.LingerTimeout = limit }, (*conn.Conn).Close},
	}
	conntest.Backends(t, func(t *testing.T, backend string) {
		for name, l := range limits {
			t.Run(name, func(t *testing.T) {
				conntest.Punctual(t, 200*time.Millisecond, func(limit time.Duration, alive func()) error {
					closed, tell := ends(1)
					f := serve(t, backend, 2, funcs{close: tell, open: func(c *conn.Conn) error {
						_, err := c.Write(make([]byte, answer))
						if err == nil && l.after != nil {
							err = l.after(c)
						}
						return err
					}}, func(cfg *conn.Config) { l.set(cfg, limit) })
					c := f.dial()
					defer c.Close()
					require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10))
					// The peer's kernel acknowledges up to three pieces at a time. So four of them
					// are what proves that the peer is alive.
					for i := range pieces { // four times the limit in all
						if err := take(c, piece); err != nil {
							return err
						}
						if i%4 == 3 {
							alive()
						}
						time.Sleep(limit / 10)
					}
					select {
					case err := <-closed:
						return fmt.Errorf("it has ended: %w", cmp.Or(err, io.EOF))
					default:
						return nil
					}
				})
			})
		}
	})
}
