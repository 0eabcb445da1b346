package conn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/windows"
)

// packetFD is a copy of a socket's descriptor.
func packetFD(pc *net.UDPConn) (int, error) { return dupSocket(pc) }

// dialPacket is a connected socket. Connecting one says nothing to the peer, and so
// never waits.
func dialPacket(to netip.AddrPort) (int, error) {
	ip := to.Addr().Unmap()
	if !ip.IsValid() {
		return -1, fmt.Errorf("no address: %w", syscall.EDESTADDRREQ)
	}
	family := windows.AF_INET6
	if ip.Is4() {
		family = windows.AF_INET
	}
	sa, err := sockaddr(ip.AsSlice(), int(to.Port()), ip.Zone(), ip.Is6())
	if err != nil {
		return -1, err
	}
	fd, err := makeSocket(family, windows.SOCK_DGRAM)
	if err != nil {
		return -1, err
	}
	if err := windows.Connect(windows.Handle(fd), sa); err != nil {
		closeFD(fd)
		return -1, callError("connect", err)
	}
	return fd, nil
}

// inspectPacket finds out what there is to know of a socket.
func inspectPacket(fd int) (local, peer netip.AddrPort, kind socketKind) {
	if sa, err := windows.Getsockname(windows.Handle(fd)); err == nil {
		_, kind.wide = sa.(*windows.SockaddrInet6)
		local = addrPort(sa)
	}
	if sa, err := windows.Getpeername(windows.Handle(fd)); err == nil {
		peer = addrPort(sa)
	}
	kind.noSegments = true
	return local, peer, kind
}

func indexOfInterface(ifi *net.Interface) int {
	if ifi == nil {
		return 0
	}
	return ifi.Index
}

// interface4 is an interface where an IPv4 address is expected: one of 0.0.0.0/8 is an
// index.
func interface4(ifi *net.Interface) (a [4]byte) {
	binary.BigEndian.PutUint32(a[:], uint32(indexOfInterface(ifi)))
	return a
}

func setMembership(fd int, ifi *net.Interface, group netip.Addr, join bool) error {
	group = group.Unmap()
	if !group.IsMulticast() {
		return fmt.Errorf("%v is no multicast group: %w", group, syscall.EINVAL)
	}
	var err error
	if group.Is4() {
		option := windows.IP_DROP_MEMBERSHIP
		if join {
			option = windows.IP_ADD_MEMBERSHIP
		}
		err = windows.SetsockoptIPMreq(windows.Handle(fd), windows.IPPROTO_IP, option,
			&windows.IPMreq{Multiaddr: group.As4(), Interface: interface4(ifi)})
	} else {
		option := windows.IPV6_LEAVE_GROUP
		if join {
			option = windows.IPV6_JOIN_GROUP
		}
		err = windows.SetsockoptIPv6Mreq(windows.Handle(fd), windows.IPPROTO_IPV6, option,
			&windows.IPv6Mreq{Multiaddr: group.As16(), Interface: uint32(indexOfInterface(ifi))})
	}
	return callError("setsockopt", err)
}

func setMulticastInterface(fd int, wide bool, ifi *net.Interface) error {
	if wide {
		return setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_MULTICAST_IF, indexOfInterface(ifi))
	}
	return callError("setsockopt", windows.SetsockoptInet4Addr(windows.Handle(fd), windows.IPPROTO_IP, windows.IP_MULTICAST_IF, interface4(ifi)))
}

// An IPv6 socket that sends to IPv4 groups has options of both kinds.

func setMulticastTTL(fd int, wide bool, ttl int) error {
	if ttl < 0 || ttl > 255 {
		return fmt.Errorf("a TTL of %d; use 0 to 255: %w", ttl, syscall.EINVAL)
	}
	err := setsockopt(fd, windows.IPPROTO_IP, windows.IP_MULTICAST_TTL, ttl)
	if wide {
		err = setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_MULTICAST_HOPS, ttl)
	}
	return err
}

func setMulticastLoopback(fd int, wide, on bool) error {
	err := setsockopt(fd, windows.IPPROTO_IP, windows.IP_MULTICAST_LOOP, boolInt(on))
	if wide {
		err = setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_MULTICAST_LOOP, boolInt(on))
	}
	return err
}

func wantDestination(fd int, wide, on bool) error {
	if wide {
		return setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_PKTINFO, boolInt(on))
	}
	return setsockopt(fd, windows.IPPROTO_IP, windows.IP_PKTINFO, boolInt(on))
}

func wantCoalesced(int, bool) error {
	return fmt.Errorf("conn: datagrams are not coalesced on Windows: %w", errors.ErrUnsupported)
}
