//go:build unix && !linux

package sock

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func hasSegments(int) bool { return false }

// interface4 is an interface as these systems name it for IPv4: by an address of it.
func interface4(ifi *net.Interface) (ip [4]byte, err error) {
	if ifi == nil {
		return ip, nil
	}
	addrs, err := ifi.Addrs()
	if err != nil {
		return ip, err
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			return [4]byte(n.IP.To4()), nil
		}
	}
	return ip, fmt.Errorf("interface %s has no IPv4 address: %w", ifi.Name, syscall.EADDRNOTAVAIL)
}

func setMembership4(fd int, ifi *net.Interface, group [4]byte, join bool) error {
	ip, err := interface4(ifi)
	if err != nil {
		return err
	}
	option := unix.IP_DROP_MEMBERSHIP
	if join {
		option = unix.IP_ADD_MEMBERSHIP
	}
	return unix.SetsockoptIPMreq(fd, unix.IPPROTO_IP, option, &unix.IPMreq{Multiaddr: group, Interface: ip})
}

func setMulticastInterface4(fd int, ifi *net.Interface) error {
	ip, err := interface4(ifi)
	if err != nil {
		return err
	}
	return unix.SetsockoptInet4Addr(fd, unix.IPPROTO_IP, unix.IP_MULTICAST_IF, ip)
}

// setMulticast4: these options are bytes.
func setMulticast4(fd, option, value int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptByte(fd, unix.IPPROTO_IP, option, byte(value)))
}

// WantDestination makes the kernel report, with each datagram, its destination address and the
// interface on which it arrived.
func WantDestination(fd int, wide, on bool) error {
	if wide {
		return setsockopt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, boolInt(on))
	}
	if err := setsockopt(fd, unix.IPPROTO_IP, unix.IP_RECVDSTADDR, boolInt(on)); err != nil {
		return err
	}
	return setsockopt(fd, unix.IPPROTO_IP, unix.IP_RECVIF, boolInt(on))
}

// WantCoalesced lets the kernel hand over several datagrams at once (UDP_GRO), where it can.
func WantCoalesced(int, bool) error {
	return fmt.Errorf("UDP_GRO is Linux's: %w", errors.ErrUnsupported)
}
