//go:build unix && !linux

package conn

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// accepted asks the kernel who the peer is, while that can be asked: after a
// reset it no longer can.
func (c *Conn) accepted(netip.AddrPort) {
	sa, err := unix.Getpeername(c.fd)
	if err != nil {
		c.setPeer(netip.AddrPort{}) // it has gone already
		return
	}
	un, ok := sa.(*unix.SockaddrUnix)
	switch {
	case !ok:
		c.setPeer(addrPort(sa))
	case un.Name != "": // clients rarely bind
		c.more().path = &net.UnixAddr{Name: un.Name, Net: "unix"}
	}
}
