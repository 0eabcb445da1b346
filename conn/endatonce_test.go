package conn_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The last bytes and the end of what the peer sends wake a receive that has been waiting, so that
// on io_uring the kernel may overlook the end. Each client waits for the greeting, and with it for
// the receive, first.
func TestEveryPeerThatSendsAndFinishesAtOnceIsNoticed(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			if network == "unix" {
				conntest.Need(t, "unix")
			}
			conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
				f := newFixture(t, backend, workers)
				address := "127.0.0.1:0"
				if network == "unix" {
					address = t.TempDir() + "/socket"
				}
				f.listen(network, address, funcs{
					open: func(c *conn.Conn) error { _, err := c.WriteString("hello"); return err },
					data: func(c *conn.Conn) error { _, err := c.Discard(-1); return err },
				})
				n, clients := 1600, 16
				if testing.Short() {
					n = 400
				}
				conntest.Each(t, clients, func(int) error {
					for range n / clients {
						c, err := dial(f.addr)
						if err != nil {
							return err
						}
						if _, err = c.Read(make([]byte, 5)); err != nil {
							return err
						}
						if _, err = c.Write([]byte("x")); err != nil {
							return err
						}
						if err = c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
							return err
						}
						if _, err = c.Read(make([]byte, 1)); err == nil { // Base.OnEOF closes
							return errors.New("more than the greeting came")
						}
						if err = c.Close(); err != nil {
							return err
						}
					}
					return nil
				})
				conntest.Eventually(t, func() bool { return f.Len() == 0 }, "OnClose of every connection")
				require.Equal(t, f.audit.opened.Load(), f.audit.closed.Load())
			})
		})
	}
}
