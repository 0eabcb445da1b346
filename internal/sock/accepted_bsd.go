//go:build unix && !linux

package sock

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// Accepted queries the kernel for the peer of an accepted socket. After a reset the kernel no
// longer knows it. For a Unix socket the result is the path, which clients rarely have.
func Accepted(fd int, _ netip.AddrPort) (peer netip.AddrPort, path string, local bool) {
	sa, err := unix.Getpeername(fd)
	if err != nil {
		return peer, "", false // it has gone already
	}
	if un, ok := sa.(*unix.SockaddrUnix); ok {
		return peer, un.Name, true
	}
	return addrPort(sa), "", false
}
