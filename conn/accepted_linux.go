package conn

import (
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor"
)

// accepted notes who the peer is, which the reactor may have been told, or else asks the kernel.
func (c *Conn) accepted(peer netip.AddrPort) {
	if peer.IsValid() {
		c.setPeer(peer)
		return
	}
	name, path := askPeer(c.fd)
	switch {
	case path < 0:
		c.setPeer(name)
	case path > 0: // clients rarely bind
		if a, err := unix.Getpeername(c.fd); err == nil {
			c.more().path = &net.UnixAddr{Name: a.(*unix.SockaddrUnix).Name, Net: "unix"}
		}
	}
}

// askPeer is who the peer of a socket is, as package unix would ask, but without garbage for each
// connection; the zero value: that is not known. Of a Unix socket it is the length of the peer's path, else -1.
func askPeer(fd int) (name netip.AddrPort, path int) {
	var sa unix.RawSockaddrInet6 // of a path, the beginning
	size := uint32(unsafe.Sizeof(sa))
	_, _, errno := unix.RawSyscall(unix.SYS_GETPEERNAME, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 { // ENOTCONN: after a reset this still knows
		for _, size = range []uint32{unix.SizeofSockaddrInet6, unix.SizeofSockaddrInet4} { // which refuses what is too long
			_, _, errno = unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERNAME, uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)), 0)
			if errno == 0 {
				break
			}
		}
	}
	switch {
	case errno != 0:
		return netip.AddrPort{}, -1
	case sa.Family == unix.AF_UNIX:
		return netip.AddrPort{}, int(size) - 2 // the family's
	}
	return reactor.ParseSockaddr(unsafe.Slice((*byte)(unsafe.Pointer(&sa)), min(uintptr(size), unsafe.Sizeof(sa)))), -1
}
