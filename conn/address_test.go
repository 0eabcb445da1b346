package conn_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestAddressesOfAcceptedConnections(t *testing.T) {
	for _, on := range []string{"tcp 127.0.0.1:0", "tcp6 [::1]:0", "tcp [::]:0", "unix /socket", "unix @suiro-test-abstract"} {
		t.Run(on, func(t *testing.T) {
			conntest.Backends(t, func(t *testing.T, backend string) {
				network, addr, _ := strings.Cut(on, " ")
				conntest.Need(t, network)
				if strings.HasPrefix(addr, "@") && runtime.GOOS != "linux" {
					t.Skip("abstract names are Linux's")
				}
				if strings.HasPrefix(addr, "/") {
					addr = t.TempDir() + addr
				}
				type ends struct{ local, remote, after net.Addr }
				got := make(chan ends, 1)
				var e ends
				f := newFixture(t, backend, 1)
				f.listen(network, addr, funcs{
					open: func(c *conn.Conn) error {
						e = ends{local: c.LocalAddr(), remote: c.RemoteAddr()}
						return nil
					},
					close: func(c *conn.Conn, _ error) {
						e.after = c.RemoteAddr()
						got <- e
					},
				})
				if on == "tcp [::]:0" { // an IPv4 peer of a dual-stack listener
					f.addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: f.addr.(*net.TCPAddr).Port}
				}
				c := f.dial()
				require.NoError(t, c.Close())
				seen := conntest.Receive(t, got)
				require.Equal(t, f.addr.Network(), seen.local.Network())
				require.Equal(t, c.RemoteAddr().String(), seen.local.String())
				require.Equal(t, f.addr.Network(), seen.remote.Network())
				require.Equal(t, c.LocalAddr().String(), seen.remote.String())
				require.Equal(t, seen.remote, seen.after)
			})
		})
	}
}

func TestSocketOptionsReachTheSocket(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		result := make(chan error, 1)
		f := serve(t, backend, 1, funcs{open: func(c *conn.Conn) error {
			result <- errors.Join(
				c.SetNoDelay(false), c.SetNoDelay(true),
				c.SetReadBuffer(64<<10), c.SetWriteBuffer(64<<10),
				c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 2 * time.Second, Count: 3}),
				c.SetKeepAliveConfig(net.KeepAliveConfig{}),
			)
			return nil
		}})
		f.dial()
		require.NoError(t, conntest.Receive(t, result))
		conntest.Need(t, "unix")
		f.listen("unix", t.TempDir()+"/s", funcs{open: func(c *conn.Conn) error {
			result <- c.SetNoDelay(true) // no such thing there
			return nil
		}})
		f.dial()
		requireOpError(t, conntest.Receive(t, result), "set")
	})
}

func TestValueNowAndWorkerBelongToTheConnection(t *testing.T) {
	conntest.Matrix(t, func(t *testing.T, backend string, workers int) {
		f := serve(t, backend, workers, funcs{
			open: func(c *conn.Conn) error {
				if c.Value() != nil {
					return errors.New("a fresh connection has a value")
				}
				c.SetValue(0)
				return nil
			},
			data: func(c *conn.Conn) error {
				c.SetValue(c.Value().(int) + 1)
				if w := c.Worker(); w < 0 || w >= workers {
					return errors.New("no such worker")
				}
				if d := time.Since(c.Now()); d < 0 {
					return errors.New("Now is in the future")
				}
				_ = discard(c)
				_, err := c.Write([]byte{byte(c.Value().(int))})
				return err
			},
		})
		f.each(10, func(_ int, c net.Conn) error {
			for i := range 20 {
				if _, err := c.Write([]byte("x")); err != nil {
					return err
				}
				p := make([]byte, 1)
				if _, err := c.Read(p); err != nil {
					return err
				}
				if int(p[0]) != i+1 {
					return errors.New("another connection's value")
				}
			}
			return nil
		})
	})
}
