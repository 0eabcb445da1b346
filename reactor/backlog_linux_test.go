//go:build !kqueue

package reactor

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/patience"
)

func TestAListenerOfTCPTellsHowManyWait(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	count := func() (n int) {
		require.NoError(t, raw.Control(func(fd uintptr) { n = backlogged(int(fd)) }))
		return n
	}
	require.Zero(t, count())
	const clients = 3
	for range clients {
		c, err := net.Dial("tcp", ln.Addr().String())
		require.NoError(t, err)
		defer c.Close()
	}
	for left := clients; left > 0; left-- {
		require.Eventually(t, func() bool { return count() == left }, patience.Limit, time.Millisecond)
		c, err := ln.Accept()
		require.NoError(t, err)
		defer c.Close()
	}
	require.Zero(t, count())

	local, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(local[0])
	defer unix.Close(local[1])
	require.Equal(t, 1, backlogged(local[0]), "one that cannot be asked has to be tried")
}
