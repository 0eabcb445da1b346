package conn_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/conn"
	"github.com/suiro-go/suiro/internal/conntest"
)

// The address of a peer that has reset its connection before any call asked for it is known.
func TestThePeerIsKnownAfterItHasReset(t *testing.T) {
	conntest.Guard(t)
	for _, on := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		ln, err := net.Listen("tcp", on)
		require.NoError(t, err)
		defer ln.Close()
		to := ln.Addr().(*net.TCPAddr)
		if to.IP.IsUnspecified() { // an IPv4 peer of a dual-stack listener
			to.IP = net.IPv4(127, 0, 0, 1)
		}
		c, err := net.DialTCP("tcp", nil, to)
		require.NoError(t, err)
		accepted, err := ln.Accept()
		require.NoError(t, err)
		defer accepted.Close()
		reset(c)
		raw, err := accepted.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) {
			conntest.Eventually(t, func() bool {
				_, err := unix.Getpeername(int(fd))
				return err != nil
			})
			require.Equal(t, c.LocalAddr().String(), conn.PeerOf(int(fd)).String(), on)
		}))
	}
}
