package conn_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
)

func TestUserTimeoutIsSetOnSockets(t *testing.T) {
	onSocketGroups(t, []int{1}, func(t *testing.T, f *fixture) {
		l := f.open("tcp", conn.SocketListenerConfig{})
		a, b, stop, err := pair(t, l, func() (net.Conn, error) { return f.DialSocketContext(t.Context(), l.Addr()) })
		require.NoError(t, err)
		defer stop()
		for _, c := range []net.Conn{a, b} {
			raw := rawOf(t, c)
			var err error
			require.NoError(t, raw.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 12345)
			}))
			require.NoError(t, err)
			got := 0
			require.NoError(t, raw.Control(func(fd uintptr) {
				got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT)
			}))
			require.NoError(t, err)
			require.Equal(t, 12345, got)
			flags := 0
			require.NoError(t, raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFD, 0) }))
			require.NoError(t, err)
			require.NotZero(t, flags&unix.FD_CLOEXEC, "children do not inherit the duplicate")
		}
		// The question whether a pooled connection still lives, as database drivers ask it.
		alive := func() (n int, err error) {
			rerr := rawOf(t, b).Read(func(fd uintptr) bool {
				n, err = unix.Read(int(fd), make([]byte, 1))
				return true
			})
			require.NoError(t, rerr)
			return n, err
		}
		_, err = alive()
		require.ErrorIs(t, err, unix.EAGAIN)
		write(t, b, "still alive")
		require.Equal(t, "still alive", string(read(t, a, 11)))
	})
}
