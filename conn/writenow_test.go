package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

func TestALargeWriteAndWhatIsAheadOfItAreSentBeforeItReturns(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		unsent := make(chan [4]int, 1)
		f := serve(t, backend, 1, funcs{
			open: func(c *conn.Conn) error { return c.SetWriteBuffer(1 << 20) },
			data: func(c *conn.Conn) error {
				_ = discard(c)
				var n [4]int
				for i, size := range []int{100, 16 << 10, 16<<10 - 1, 20 << 10} {
					if _, err := c.Write(noise[:size]); err != nil {
						return err
					}
					n[i] = c.Unsent()
				}
				unsent <- n
				return nil
			},
		})
		c := f.dial()
		write(t, c, "x")
		require.Equal(t, [4]int{100, 0, 16<<10 - 1, 0}, conntest.Receive(t, unsent))
		for _, size := range []int{100, 16 << 10, 16<<10 - 1, 20 << 10} {
			require.True(t, bytes.Equal(noise[:size], read(t, c, size)))
		}
	})
}

// Bytes arrive in order, in whichever way they are written, and however few the socket takes at
// once.
func TestSmallAndLargeWritesArriveInOrder(t *testing.T) {
	const total = 8 << 20
	conntest.Backends(t, func(t *testing.T, backend string) {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 1))
			at, notified := 0, make(chan error, 1)
			put := func(c *conn.Conn) error {
				for c.Unsent() <= 256<<10 && at < total {
					n := 1 + r.IntN(200)
					if r.IntN(2) == 0 {
						n = 1 + r.IntN(100<<10)
					}
					p := noise[at%len(noise):]
					p = p[:min(n, len(p), total-at)]
					var err error
					switch r.IntN(6) {
					case 0:
						_, err = c.WriteString(string(p))
					case 1:
						_, err = c.Write(append(c.AvailableBuffer(len(p)), p...))
					case 2:
						_, err = c.Writev([][]byte{p[:len(p)/2], p[len(p)/2:]})
					case 3:
						if err = c.Flush(); err == nil {
							_, err = c.Write(p)
						}
					default:
						_, err = c.Write(p)
					}
					if err != nil {
						return err
					}
					at += len(p)
				}
				if at == total {
					at++ // once
					c.NotifySent(func(err error) { notified <- err })
				}
				return nil
			}
			f := serve(t, backend, 2, funcs{
				open:     func(c *conn.Conn) error { return c.SetWriteBuffer(1 << (12 + 3*seed)) },
				data:     func(c *conn.Conn) error { _ = discard(c); return put(c) },
				writable: put,
			})
			c := f.dial()
			require.NoError(t, c.(*net.TCPConn).SetReadBuffer(32<<10))
			buf := make([]byte, 50_000)
			for got := 0; got < total; {
				write(t, c, "x")
				n, err := io.ReadAtLeast(c, buf[:min(len(buf), total-got)], 1)
				require.NoError(t, err)
				for p := buf[:n]; len(p) > 0; {
					want := noise[got%len(noise):]
					m := min(len(p), len(want))
					require.True(t, bytes.Equal(want[:m], p[:m]), "%d bytes at %d, seed %d", m, got, seed)
					got, p = got+m, p[m:]
				}
			}
			require.NoError(t, conntest.Receive(t, notified))
		}
	})
}

func TestALargeWriteToAPeerThatHasResetEndsTheConnection(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		handles, causes := make(chan conn.Handle, 1), make(chan error, 1)
		f := serve(t, backend, 1, funcs{
			open:  func(c *conn.Conn) error { handles <- c.Handle(); c.PauseRead(); return nil },
			close: func(_ *conn.Conn, err error) { causes <- err },
		})
		c := f.dial()
		h := conntest.Receive(t, handles)
		reset(c)
		_ = h.Do(func(c *conn.Conn) { // which may have seen the reset by then
			for range 3 {
				if n, err := c.Write(noise[:64<<10]); err != nil || n != 64<<10 {
					panic(fmt.Sprint(n, err))
				}
			}
		})
		err := conntest.Receive(t, causes)
		require.True(t, errors.Is(conn.Portable(err), syscall.ECONNRESET) || errors.Is(conn.Portable(err), syscall.EPIPE), "%v", err)
	})
}
