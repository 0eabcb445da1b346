package reactortest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// segments says whether a batch holds segments as one datagram.
const segments = true

// sendersWait says whether there is a packetPair.
const sendersWait = true

// packetPair returns two connected datagram sockets. The first one blocks after a few unread
// datagrams.
func packetPair(t testing.TB) (fd, peer int) {
	t.Helper()
	p := makePair(t, unix.SOCK_DGRAM)
	t.Cleanup(func() { closeSocket(p[1]) })
	require.NoError(t, unix.SetsockoptInt(p[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1)) // the smallest size
	return p[0], p[1]
}

// neverFragment makes an IPv6 socket refuse datagrams that are longer than the interface's MTU.
func neverFragment(t testing.TB, fd int) {
	t.Helper()
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO))
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
}

// wantPacketInfo makes the kernel report the destination address of a datagram.
func wantPacketInfo(t testing.TB, fd int, network string) {
	t.Helper()
	if network == "udp4" {
		require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
		return
	}
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
}

// wantWholeSegments makes the kernel deliver segments as one piece.
func wantWholeSegments(t testing.TB, fd int) {
	t.Helper()
	const udpGRO = 104
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, udpGRO, 1); err != nil {
		t.Skipf("no UDP_GRO here: %v", err)
	}
}
