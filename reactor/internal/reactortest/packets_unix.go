//go:build unix

package reactortest

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/patience"
)

func deadline() time.Time { return time.Now().Add(patience.Limit) }

// packetSocket returns a datagram socket at a free loopback address. For "udp" it is an IPv6 socket
// that also takes IPv4.
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
	fd := makeSocket(t, family, unix.SOCK_DGRAM)
	if network == "udp" {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
			closeSocket(fd)
			t.Skipf("no sockets for both families here: %v", err)
		}
	}
	require.NoError(t, unix.Bind(fd, sa))
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20) // as far as the system allows
	sa, err := unix.Getsockname(fd)
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

func connectPacket(t testing.TB, fd int, to netip.AddrPort) {
	t.Helper()
	require.NoError(t, unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}))
}

// listenPacket returns a datagram socket of the test.
func listenPacket(network string, at netip.AddrPort) (datagramPeer, error) {
	c, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	_ = c.SetReadBuffer(4 << 20) // as far as the system allows
	return c, nil
}

// readPacket returns the length of the next datagram, if there is one.
func readPacket(fd int, p []byte) (n int, ok bool) {
	n, err := unix.Read(fd, p)
	return n, err == nil
}
