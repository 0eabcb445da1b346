package sock

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/windows"
)

// OfPacketConn is a copy of a socket's descriptor.
func OfPacketConn(pc *net.UDPConn) (int, error) { return dupSocket(pc) }

// DialPacket returns a connected socket. To connect a datagram socket sends nothing, so it never
// waits.
func DialPacket(to netip.AddrPort) (int, error) {
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
	if err := setsockopt(fd, windows.SOL_SOCKET, windows.SO_BROADCAST, 1); err != nil { // as package net
		Close(fd)
		return -1, err
	}
	if err := windows.Connect(windows.Handle(fd), sa); err != nil {
		Close(fd)
		return -1, callError("connect", err)
	}
	return fd, nil
}

// Inspect finds out the addresses and properties of a socket.
func Inspect(fd int) (local, peer netip.AddrPort, kind Kind) {
	if sa, err := windows.Getsockname(windows.Handle(fd)); err == nil {
		_, kind.Wide = sa.(*windows.SockaddrInet6)
		local = addrPort(sa)
	}
	if sa, err := windows.Getpeername(windows.Handle(fd)); err == nil {
		peer = addrPort(sa)
	}
	kind.NoSegments = true
	return local, peer, kind
}

func indexOfInterface(ifi *net.Interface) int {
	if ifi == nil {
		return 0
	}
	return ifi.Index
}

// interface4 is an interface where its IPv4 address is expected, as package net has it:
// the first.
func interface4(ifi *net.Interface) (a [4]byte, err error) {
	if ifi == nil {
		return a, nil
	}
	all, err := ifi.Addrs()
	if err != nil {
		return a, err
	}
	for _, addr := range all {
		if n, ok := addr.(*net.IPNet); ok && n.IP.To4() != nil {
			return [4]byte(n.IP.To4()), nil
		}
	}
	return a, fmt.Errorf("%s has no IPv4 address: %w", ifi.Name, syscall.EADDRNOTAVAIL)
}

// SetMembership joins or leaves a multicast group on an interface; nil: one of the system's choice.
func SetMembership(fd int, ifi *net.Interface, group netip.Addr, join bool) error {
	group = group.Unmap()
	if !group.IsMulticast() {
		return fmt.Errorf("%v is no multicast group: %w", group, syscall.EINVAL)
	}
	if group.Is4() {
		at, err := interface4(ifi)
		if err != nil {
			return err
		}
		option := windows.IP_DROP_MEMBERSHIP
		if join {
			option = windows.IP_ADD_MEMBERSHIP
		}
		return callError("setsockopt", windows.SetsockoptIPMreq(windows.Handle(fd), windows.IPPROTO_IP, option,
			&windows.IPMreq{Multiaddr: group.As4(), Interface: at}))
	}
	option := windows.IPV6_LEAVE_GROUP
	if join {
		option = windows.IPV6_JOIN_GROUP
	}
	index, err := groupInterface(ifi, group)
	if err != nil {
		return err
	}
	return callError("setsockopt", windows.SetsockoptIPv6Mreq(windows.Handle(fd), windows.IPPROTO_IPV6, option,
		&windows.IPv6Mreq{Multiaddr: group.As16(), Interface: index}))
}

// An IPv6 socket that sends to IPv4 groups has options of both kinds.

// SetMulticastInterface sets where multicast leaves the machine. wide: it is an IPv6 socket.
func SetMulticastInterface(fd int, wide bool, ifi *net.Interface) error {
	at, err := interface4(ifi)
	if err == nil {
		err = callError("setsockopt", windows.SetsockoptInet4Addr(windows.Handle(fd), windows.IPPROTO_IP, windows.IP_MULTICAST_IF, at))
	}
	if wide {
		err = setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_MULTICAST_IF, indexOfInterface(ifi))
	}
	return err
}

// SetMulticastTTL sets how many routers multicast passes, 0 to 255.
func SetMulticastTTL(fd int, wide bool, ttl int) error {
	if ttl < 0 || ttl > 255 {
		return fmt.Errorf("a TTL of %d; use 0 to 255: %w", ttl, syscall.EINVAL)
	}
	err := setsockopt(fd, windows.IPPROTO_IP, windows.IP_MULTICAST_TTL, ttl)
	if wide {
		err = setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_MULTICAST_HOPS, ttl)
	}
	return err
}

// SetMulticastLoopback says whether this machine's own sockets receive what this one sends to
// groups.
func SetMulticastLoopback(fd int, wide, on bool) error {
	err := setsockopt(fd, windows.IPPROTO_IP, windows.IP_MULTICAST_LOOP, boolInt(on))
	if wide {
		err = setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_MULTICAST_LOOP, boolInt(on))
	}
	return err
}

// WantDestination makes the system report, with each datagram, its destination address and the
// interface on which it arrived.
func WantDestination(fd int, wide, on bool) error {
	if wide {
		return setsockopt(fd, windows.IPPROTO_IPV6, windows.IPV6_PKTINFO, boolInt(on))
	}
	return setsockopt(fd, windows.IPPROTO_IP, windows.IP_PKTINFO, boolInt(on))
}

// WantCoalesced lets the kernel hand over several datagrams at once (UDP_GRO), where it can.
func WantCoalesced(int, bool) error {
	return fmt.Errorf("conn: datagrams are not coalesced on Windows: %w", errors.ErrUnsupported)
}
