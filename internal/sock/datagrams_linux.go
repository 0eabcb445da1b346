package sock

import (
	"errors"
	"fmt"
	"net"
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

func wantDestination4(fd int, on bool) error {
	return setsockopt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, boolInt(on))
}

// WantCoalesced lets the kernel hand over several datagrams at once (UDP_GRO), where it can.
func WantCoalesced(fd int, on bool) error {
	err := setsockopt(fd, unix.SOL_UDP, udpGRO, boolInt(on))
	if errors.Is(err, syscall.ENOPROTOOPT) {
		return fmt.Errorf("%w; it takes Linux 5.0 or later: %w", err, errors.ErrUnsupported)
	}
	return err
}
