//go:build unix && !linux

package reactortest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// segments says that a batch holds segments as one.
const segments = false

// sendersWait says that there is a packetPair: here a datagram for which there is no room fails (ENOBUFS), and nothing
// says when there is some.
const sendersWait = false

func packetPair(testing.TB) (fd, peer int) {
	panic("reactortest: a packet pair where senders do not wait")
}

// neverFragment has an IPv6 socket refuse what is longer than the interface takes.
func neverFragment(t testing.TB, fd int) {
	t.Helper()
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
}

// wantPacketInfo has the kernel say where a datagram was sent to.
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
