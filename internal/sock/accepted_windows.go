package sock

import (
	"net/netip"

	"golang.org/x/sys/windows"
)

// Accepted queries the system for the peer of an accepted socket, as long as it is known. For a
// Unix socket the result is the path, which clients rarely have.
func Accepted(fd int, _ netip.AddrPort) (peer netip.AddrPort, path string, local bool) {
	_ = SetNoDelay(fd, true) // sockets that are accepted do not inherit it
	sa, err := windows.Getpeername(windows.Handle(fd))
	if un, ok := sa.(*windows.SockaddrUnix); ok {
		return peer, un.Name, true
	}
	if err != nil && family(fd) == windows.AF_UNIX { // it has gone already
		return peer, "", true
	}
	return addrPort(sa), "", false
}
