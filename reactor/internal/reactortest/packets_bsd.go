//go:build unix && !linux

package reactortest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// segments says whether a batch holds segments as one datagram.
const segments = false

// sendersWait says whether there is a packetPair. On these systems a datagram without room fails
// (ENOBUFS), and no event reports when there is room.
const sendersWait = false

func packetPair(testing.TB) (fd, peer int) {
	panic("reactortest: a packet pair where senders do not wait")
}

// neverFragment makes an IPv6 socket refuse datagrams that are longer than the interface's MTU.
func neverFragment(t testing.TB, fd int) {
	t.Helper()
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
}

// wantPacketInfo makes the kernel report the destination address of a datagram.
func wantPacketInfo(t testing.TB, fd int, network string) {
	t.Helper()
	if network == "udp4" {
		require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVDSTADDR, 1))
		require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVIF, 1))
		return
	}
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
}

func wantWholeSegments(t testing.TB, _ int) {
	t.Helper()
	t.Skip("UDP_GRO is Linux's")
}
