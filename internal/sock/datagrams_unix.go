//go:build unix

package sock

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OfPacketConn is a copy of a socket's descriptor, close-on-exec and non-blocking as the
// original is.
func OfPacketConn(pc *net.UDPConn) (int, error) {
	raw, err := pc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	cerr := raw.Control(func(orig uintptr) { fd, err = Duplicate(int(orig)) })
	return fd, errors.Join(cerr, err)
}

// DialPacket returns a connected socket. To connect a datagram socket sends nothing, so it never
// waits.
func DialPacket(to netip.AddrPort) (int, error) {
	family, sa, err := packetSockaddr(to)
	if err != nil {
		return -1, err
	}
	fd, err := Socket(family, unix.SOCK_DGRAM)
	if err != nil {
		return -1, Advise(err)
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1) // as package net
	if err != nil {
		Close(fd)
		return -1, os.NewSyscallError("setsockopt", err)
	}
	if err := unix.Connect(fd, sa); err != nil {
		Close(fd)
		return -1, os.NewSyscallError("connect", err)
	}
	return fd, nil
}

func packetSockaddr(to netip.AddrPort) (int, unix.Sockaddr, error) {
	ip := to.Addr().Unmap()
	switch {
	case ip.Is4():
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: ip.As4()}, nil
	case ip.Is6():
		zone, err := zoneOf(ip.Zone())
		return unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: ip.As16(), ZoneId: zone}, err
	}
	return 0, nil, fmt.Errorf("no address: %w", syscall.EDESTADDRREQ)
}

// Inspect finds out the addresses and properties of a socket.
func Inspect(fd int) (local, peer netip.AddrPort, kind Kind) {
	if sa, err := unix.Getsockname(fd); err == nil {
		_, kind.Wide = sa.(*unix.SockaddrInet6)
		local = addrPort(sa)
	}
	if sa, err := unix.Getpeername(fd); err == nil {
		peer = addrPort(sa)
	}
	kind.NoSegments = !hasSegments(fd)
	return local, peer, kind
}

func indexOfInterface(ifi *net.Interface) int {
	if ifi == nil {
		return 0
	}
	return ifi.Index
}

// SetMembership joins or leaves a multicast group on an interface; nil: one of the system's choice.
func SetMembership(fd int, ifi *net.Interface, group netip.Addr, join bool) error {
	group = group.Unmap()
	if !group.IsMulticast() {
		return fmt.Errorf("%v is no multicast group: %w", group, syscall.EINVAL)
	}
	var err error
	if group.Is4() {
		err = setMembership4(fd, ifi, group.As4(), join)
	} else {
		option := unix.IPV6_LEAVE_GROUP
		if join {
			option = unix.IPV6_JOIN_GROUP
		}
		var index uint32
		if index, err = groupInterface(ifi, group); err != nil {
			return err
		}
		err = unix.SetsockoptIPv6Mreq(fd, unix.IPPROTO_IPV6, option, &unix.IPv6Mreq{Multiaddr: group.As16(), Interface: index})
	}
	return os.NewSyscallError("setsockopt", err)
}

// An IPv6 socket that sends to IPv4 groups has options of both kinds, on Linux.

// SetMulticastInterface sets where multicast leaves the machine. wide: it is an IPv6 socket.
func SetMulticastInterface(fd int, wide bool, ifi *net.Interface) error {
	err := setMulticastInterface4(fd, ifi)
	if wide {
		return setsockopt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, indexOfInterface(ifi))
	}
	return os.NewSyscallError("setsockopt", err)
}

// SetMulticastTTL sets how many routers multicast passes, 0 to 255.
func SetMulticastTTL(fd int, wide bool, ttl int) error {
	if ttl < 0 || ttl > 255 {
		return fmt.Errorf("a TTL of %d; use 0 to 255: %w", ttl, syscall.EINVAL)
	}
	err := setMulticast4(fd, unix.IP_MULTICAST_TTL, ttl)
	if wide {
		err = setsockopt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, ttl)
	}
	return err
}

// SetMulticastLoopback says whether this machine's own sockets receive what this one sends to
// groups.
func SetMulticastLoopback(fd int, wide, on bool) error {
	err := setMulticast4(fd, unix.IP_MULTICAST_LOOP, boolInt(on))
	if wide {
		err = setsockopt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_LOOP, boolInt(on))
	}
	return err
}
