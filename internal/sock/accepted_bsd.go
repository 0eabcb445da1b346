//go:build unix && !linux

package sock

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// Accepted asks the kernel who the peer of an accepted socket is, while that can be asked: after
// a reset it no longer can. Of a Unix socket it is the path, which clients rarely have.
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
