package conn_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The next connection gets the number of the one just closed, while
// events of that may be on their way. Each says who it is before it echoes.
func TestNoEventCrossesWhenADescriptorNumberIsReused(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		rounds := 100
		if testing.Short() {
			rounds = 20
		}
		var id atomic.Int64
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error {
				c.SetValue(id.Add(1))
				return nil
			},
			data: func(c *conn.Conn) error {
				p, _ := c.Next(-1)
				if p[0] == 'q' { // ends at once, with bytes of the peer's on their way
					c.Abort()
					return nil
				}
				_, err := fmt.Fprintf(c, "%d %s", c.Value(), p)
				return err
			},
		})
		conntest.Each(t, 4, func(int) error {
			for range rounds {
				victim, err := dial(f.addr)
				if err != nil {
					return err
				}
				_, _ = victim.Write([]byte("q"))
				_, _ = victim.Write([]byte("stray bytes"))
				next, err := dial(f.addr)
				if err != nil {
					return err
				}
				if rand.IntN(2) == 0 {
					reset(victim)
				}
				if _, err = next.Write([]byte("mine")); err != nil {
					return err
				}
				p := make([]byte, 100)
				n, err := next.Read(p)
				if err != nil {
					return fmt.Errorf("an innocent connection: %w", err)
				}
				var who int
				var text string
				if _, err := fmt.Sscanf(string(p[:n]), "%d %s", &who, &text); err != nil || text != "mine" {
					return fmt.Errorf("got %q, %w", p[:n], err)
				}
				_ = next.Close()
				_ = victim.Close()
			}
			return nil
		})
		conntest.Eventually(t, func() bool { return f.Len() == 0 })
	})
}

// sockets counts those of the process. Reactors have descriptors of other kinds.
func sockets() int { return strings.Count(strings.Join(conntest.Descriptors(), " "), "socket:") }
