package reactortest

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// segments says that a batch holds segments as one.
const segments = true

// sendersWait says that there is a packetPair.
const sendersWait = true

func deadline() time.Time { return time.Now().Add(patience) }

// packetSocket is a datagram socket at a free loopback address; "udp" is an IPv6 one that takes IPv4 too.
func packetSocket(t testing.TB, network string) (int, netip.AddrPort) {
	t.Helper()
	family, ip := unix.AF_INET6, netip.IPv6Loopback()
	var sa unix.Sockaddr = &unix.SockaddrInet6{Addr: ip.As16()}
	switch network {
	case "udp4":
		family, ip = unix.AF_INET, netip.MustParseAddr("127.0.0.1")
		sa = &unix.SockaddrInet4{Addr: ip.As4()}
	case "udp":
		sa = &unix.SockaddrInet6{}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, sa))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20) // as far as the system lets us
	sa, err = unix.Getsockname(fd)
	require.NoError(t, err)
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return fd, netip.AddrPortFrom(ip, uint16(sa.Port))
	case *unix.SockaddrInet6:
		return fd, netip.AddrPortFrom(ip, uint16(sa.Port))
	}
	t.Fatal(sa)
	return -1, netip.AddrPort{}
}

// packetPair is two connected datagram sockets, the first of which sends only a few that have not been read.
func packetPair(t testing.TB) (fd, peer int) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { closeSocket(p[1]) })
	require.NoError(t, unix.SetsockoptInt(p[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1)) // the least there is
	return p[0], p[1]
}

func connectPacket(t testing.TB, fd int, to netip.AddrPort) {
	t.Helper()
	require.NoError(t, unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}))
}

// neverFragment has an IPv6 socket refuse what is longer than the interface takes.
func neverFragment(t testing.TB, fd int) {
	t.Helper()
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO))
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
}

// wantPacketInfo has the kernel say where a datagram was sent to.
func wantPacketInfo(t testing.TB, fd int, network string) {
	t.Helper()
	if network == "udp4" {
		require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
		return
	}
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
}

// wantWholeSegments has the kernel leave segments together.
func wantWholeSegments(t testing.TB, fd int) {
	t.Helper()
	const udpGRO = 104
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, udpGRO, 1); err != nil {
		t.Skipf("no UDP_GRO here: %v", err)
	}
}

// listenPacket is a datagram socket of the test's own.
func listenPacket(network string, at netip.AddrPort) (datagramPeer, error) {
	c, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(at))
	if err == nil {
		err = c.SetReadBuffer(4 << 20)
	}
	return c, err
}

// readPacket is the length of the next datagram, if there is one.
func readPacket(fd int, p []byte) (n int, ok bool) {
	n, err := unix.Read(fd, p)
	return n, err == nil
}
