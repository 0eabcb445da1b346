package conn_test

import (
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The socket takes only a part of a large write of an AvailableBuffer. Its bytes stay unchanged
// while others use buffers.
func TestAPartOfAnAvailableBufferThatIsNotTakenStaysAsItIs(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		const size = 80 << 10 // of a class that all workers share
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(32 << 10) },
			data: func(c *conn.Conn) error {
				p, _ := c.Next(-1)
				b := c.AvailableBuffer(size)
				for range size {
					b = append(b, p[0])
				}
				_, err := c.Write(b)
				return err
			},
		})
		f.crowd(16, 16, func(i int, c net.Conn) error {
			got := make([]byte, size)
			for round := range 6 {
				want := byte(16*round + i)
				if _, err := c.Write([]byte{want}); err != nil {
					return err
				}
				if _, err := io.ReadFull(c, got); err != nil {
					return err
				}
				for at, b := range got {
					if b != want {
						return fmt.Errorf("byte %d is %d, not %d", at, b, want)
					}
				}
			}
			return nil
		})
	})
}
