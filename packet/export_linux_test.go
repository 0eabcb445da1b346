package packet

import (
	"errors"

	"golang.org/x/sys/unix"
)

// NeverFragment makes an IPv6 socket refuse datagrams that are longer than the interface takes.
func NeverFragment(c *Conn) error {
	return errors.Join(
		unix.SetsockoptInt(c.end.FD, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO),
		unix.SetsockoptInt(c.end.FD, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
}

// NoChecksums makes a socket send without checksums. The kernel cannot do this with segments.
func NoChecksums(c *Conn) error {
	return unix.SetsockoptInt(c.end.FD, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1)
}
