package sock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Of linux/udp.h.
const (
	udpSegment = 103
	udpGRO     = 104
)

func hasSegments(fd int) bool {
	_, err := unix.GetsockoptInt(fd, unix.SOL_UDP, udpSegment)
	return err == nil
}

func setMembership4(fd int, ifi *net.Interface, group [4]byte, join bool) error {
	option := unix.IP_DROP_MEMBERSHIP
	if join {
		option = unix.IP_ADD_MEMBERSHIP
	}
	return unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, option, &unix.IPMreqn{Multiaddr: group, Ifindex: int32(indexOfInterface(ifi))})
}

func setMulticastInterface4(fd int, ifi *net.Interface) error {
	return unix.SetsockoptIPMreqn(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, &unix.IPMreqn{Ifindex: int32(indexOfInterface(ifi))})
}

func setMulticast4(fd, option, value int) error {
	return setsockopt(fd, unix.IPPROTO_IP, option, value)
}

// WantDestination makes the kernel report, with each datagram, its destination address and the
// interface on which it arrived. Only IP_PKTINFO tells an IPv4 broadcast address.
func WantDestination(fd int, wide, on bool) error {
	return setBoth(fd, wide, unix.IP_PKTINFO, unix.IPV6_RECVPKTINFO, boolInt(on))
}

// WantSource makes the kernel report which address to answer each datagram from. It reports whether
// the kernel does.
func WantSource(fd int, wide bool) bool { return WantDestination(fd, wide, true) == nil }

// An IPv6 socket also receives from IPv4 senders, and has the options of both families.

// WantECN makes the kernel report the ECN bits of each datagram.
func WantECN(fd int, wide, on bool) error {
	return setBoth(fd, wide, unix.IP_RECVTOS, unix.IPV6_RECVTCLASS, boolInt(on))
}

// WantTTL makes the kernel report the TTL, or the hop limit, of each datagram.
func WantTTL(fd int, wide, on bool) error {
	return setBoth(fd, wide, unix.IP_RECVTTL, unix.IPV6_RECVHOPLIMIT, boolInt(on))
}

// WantTimes makes the kernel report when it has received each datagram.
func WantTimes(fd int, on bool) error {
	return setsockopt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, boolInt(on))
}

// SetECN sets the ECN bits of the datagrams to be sent, and leaves the other bits of the traffic
// class.
func SetECN(fd int, wide bool, bits int) error {
	if bits < 0 || bits > 3 {
		return fmt.Errorf("ECN bits of %d; use 0 to 3: %w", bits, syscall.EINVAL)
	}
	err := setBits(fd, unix.IPPROTO_IP, unix.IP_TOS, bits)
	if wide {
		err = setBits(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, bits)
	}
	return err
}

func setBits(fd, level, option, bits int) error {
	class, err := unix.GetsockoptInt(fd, level, option)
	if err != nil {
		return os.NewSyscallError("getsockopt", err)
	}
	return setsockopt(fd, level, option, max(0, class)&^3|bits)
}

// SetTTL sets the TTL, or the hop limit, of the unicast datagrams to be sent, 1 to 255.
func SetTTL(fd int, wide bool, ttl int) error {
	if ttl < 1 || ttl > 255 {
		return fmt.Errorf("a TTL of %d; use 1 to 255: %w", ttl, syscall.EINVAL)
	}
	return setBoth(fd, wide, unix.IP_TTL, unix.IPV6_UNICAST_HOPS, ttl)
}

// setBoth sets an option of IPv4 and, on an IPv6 socket, that of IPv6.
func setBoth(fd int, wide bool, option4, option6, value int) error {
	err := setsockopt(fd, unix.IPPROTO_IP, option4, value)
	if wide {
		err = setsockopt(fd, unix.IPPROTO_IPV6, option6, value)
	}
	return err
}

// WantCoalesced lets the kernel hand over several datagrams at once (UDP_GRO), where it can.
func WantCoalesced(fd int, on bool) error {
	err := setsockopt(fd, unix.SOL_UDP, udpGRO, boolInt(on))
	if errors.Is(err, syscall.ENOPROTOOPT) {
		return fmt.Errorf("%w; it takes Linux 5.0 or later: %w", err, errors.ErrUnsupported)
	}
	return err
}
