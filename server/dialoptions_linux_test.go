package server_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/suiro-go/suiro/internal/conntest"
)

func TestTheOptionsOfADialedSocketAreSet(t *testing.T) {
	conntest.Backends(t, func(t *testing.T, backend string) {
		l := listenEcho(t, "tcp", "127.0.0.1:0")
		d := newClient(t, backend, 2, false)
		d.KeepAlive, d.Nagle, d.FastOpen = 7*time.Second, true, true
		var got [3]int
		d.Control = func(network, addr string, raw syscall.RawConn) error {
			require.Equal(t, "tcp4 "+l.Addr().String(), network+" "+addr)
			return raw.Control(func(fd uintptr) {
				for i, name := range []int{syscall.TCP_NODELAY, syscall.TCP_KEEPIDLE, 30} { // TCP_FASTOPEN_CONNECT
					got[i], _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, name)
				}
			})
		}
		h := newTold()
		handle, err := d.Start("tcp", l.Addr().String(), h)
		require.NoError(t, err)
		require.Equal(t, [3]int{0, 7, 1}, got)
		conntest.Receive(t, h.opened)
		require.NoError(t, handle.Send([]byte("hello")))
		h.next(t, "hello")
		d.KeepAlive, d.Nagle, d.FastOpen = -1, false, false
		_, err = d.Start("tcp", l.Addr().String(), newTold())
		require.NoError(t, err)
		require.Equal(t, 1, got[0])
		require.Zero(t, got[2])
	})
}
