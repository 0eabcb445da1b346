package reactortest

import (
	"sync"
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
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
		t.Skipf("no UDP_GRO here: %v", err)
	}
	whole, err := passesWholeSegments()
	require.NoError(t, err)
	if !whole {
		t.Skip("this kernel's loopback interface divides segments")
	}
}

// passesWholeSegments reports whether two segments arrive as one piece, without a reactor. On the
// loopback interface of Linux 5.10 they do not.
var passesWholeSegments = sync.OnceValues(func() (bool, error) {
	var pair [2]int
	for i, option := range []int{unix.UDP_SEGMENT, unix.UDP_GRO} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return false, err
		}
		defer func() { _ = unix.Close(fd) }()
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, option, 500); err != nil {
			return false, err
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return false, err
		}
		pair[i] = fd
	}
	to, err := unix.Getsockname(pair[1])
	if err != nil {
		return false, err
	}
	p := make([]byte, 1000)
	if err := unix.Sendto(pair[0], p, 0, to); err != nil {
		return false, err
	}
	n, _, err := unix.Recvfrom(pair[1], p, 0)
	return n == len(p), err
})
