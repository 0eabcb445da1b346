package reactortest

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/internal/patience"
)

// segments says whether a batch holds segments as one datagram.
const segments = false

// sendersWait says whether there is a packetPair.
const sendersWait = false

func deadline() time.Time { return time.Now().Add(patience.Limit) }

// packetSocket returns a datagram socket at a free loopback address. For "udp" it is an IPv6 socket
// that also takes IPv4.
func packetSocket(t testing.TB, network string) (int, netip.AddrPort) {
	t.Helper()
	ip := map[string]netip.Addr{"udp4": netip.AddrFrom4([4]byte{127, 0, 0, 1}), "udp6": netip.IPv6Loopback(), "udp": netip.IPv6Unspecified()}[network]
	fd, at, err := datagramSocket(netip.AddrPortFrom(ip, 0))
	require.NoError(t, err)
	if network == "udp" {
		at = netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	}
	return fd, at
}

func datagramSocket(at netip.AddrPort) (int, netip.AddrPort, error) {
	const sndbuf, rcvbuf, v6only = 0x1001, 0x1002, 27
	family := int32(windows.AF_INET6)
	var sa windows.Sockaddr = &windows.SockaddrInet6{Addr: at.Addr().As16(), Port: int(at.Port())}
	if at.Addr().Is4() {
		family, sa = windows.AF_INET, &windows.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}
	}
	h, err := windows.WSASocket(family, windows.SOCK_DGRAM, 0, nil, 0, windows.WSA_FLAG_OVERLAPPED|windows.WSA_FLAG_NO_HANDLE_INHERIT)
	if err != nil {
		return -1, at, err
	}
	if family == windows.AF_INET6 {
		_ = windows.SetsockoptInt(h, windows.IPPROTO_IPV6, v6only, 0)
	}
	_ = windows.SetsockoptInt(h, windows.SOL_SOCKET, rcvbuf, 4<<20)
	if err := windows.Bind(h, sa); err != nil {
		closeSocket(int(h))
		return -1, at, err
	}
	sa, err = windows.Getsockname(h)
	if err == nil {
		err = setNonblock(int(h))
	}
	return int(h), addrPortOf(sa), err
}

func addrPortOf(sa windows.Sockaddr) netip.AddrPort {
	switch sa := sa.(type) {
	case *windows.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
	case *windows.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
	}
	return netip.AddrPort{}
}

// A rawPeer replaces a socket of package net, which fails on Wine because that lacks
// SIO_UDP_CONNRESET.
type rawPeer struct {
	fd    int
	at    netip.AddrPort
	until time.Time
}

func listenPacket(_ string, at netip.AddrPort) (datagramPeer, error) {
	fd, at, err := datagramSocket(at)
	if err != nil {
		return nil, err
	}
	return &rawPeer{fd: fd, at: at}, nil
}

func (p *rawPeer) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(p.at) }

func (p *rawPeer) SetReadDeadline(t time.Time) error { p.until = t; return nil }

func (p *rawPeer) Close() error { return windows.Closesocket(windows.Handle(p.fd)) }

func (p *rawPeer) WriteToUDPAddrPort(data []byte, to netip.AddrPort) (int, error) {
	return len(data), windows.Sendto(windows.Handle(p.fd), data, 0, sockaddrOf(to))
}

func (p *rawPeer) ReadFromUDPAddrPort(data []byte) (int, netip.AddrPort, error) {
	for {
		n, from, err := windows.Recvfrom(windows.Handle(p.fd), data, 0)
		switch {
		case err == nil:
			return n, addrPortOf(from), nil
		case err != windows.WSAEWOULDBLOCK:
			return 0, netip.AddrPort{}, err
		case !p.until.IsZero() && time.Now().After(p.until):
			return 0, netip.AddrPort{}, os.ErrDeadlineExceeded
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func sockaddrOf(at netip.AddrPort) windows.Sockaddr {
	if at.Addr().Is4() {
		return &windows.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}
	}
	return &windows.SockaddrInet6{Addr: at.Addr().As16(), Port: int(at.Port())}
}

// packetPair does not exist on Windows.
func packetPair(testing.TB) (fd, peer int) { panic("reactortest: there is none here") }

func connectPacket(t testing.TB, fd int, to netip.AddrPort) {
	t.Helper()
	require.NoError(t, windows.Connect(windows.Handle(fd), sockaddrOf(to)))
}

// neverFragment makes an IPv6 socket refuse datagrams that are longer than the interface's MTU.
func neverFragment(t testing.TB, fd int) {
	t.Helper()
	const dontFragment = 14
	require.NoError(t, windows.SetsockoptInt(windows.Handle(fd), windows.IPPROTO_IPV6, dontFragment, 1))
}

// wantPacketInfo makes the kernel report the destination address of a datagram.
func wantPacketInfo(t testing.TB, fd int, network string) {
	t.Helper()
	const packetInfo = 19
	level := windows.IPPROTO_IPV6
	if network == "udp4" {
		level = windows.IPPROTO_IP
	}
	require.NoError(t, windows.SetsockoptInt(windows.Handle(fd), level, packetInfo, 1))
}

// wantWholeSegments does not exist on Windows.
func wantWholeSegments(t testing.TB, _ int) {
	t.Helper()
	t.Skip("there are no segments here; what they would be comes singly")
}

// readPacket returns the length of the next datagram, if there is one.
func readPacket(fd int, p []byte) (n int, ok bool) {
	buf, got, flags := windows.WSABuf{Len: uint32(len(p)), Buf: unsafe.SliceData(p)}, uint32(0), uint32(0)
	err := windows.WSARecv(windows.Handle(fd), &buf, 1, &got, &flags, nil, nil)
	return int(got), err == nil
}
