package conn

import (
	"net"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor"
)

// accepted notes who the peer is, which the reactor may have been told, or else asks the kernel while that can be
// asked: after a reset it no longer can.
func (c *Conn) accepted(peer netip.AddrPort) {
	if peer.IsValid() {
		c.setPeer(peer)
		return
	}
	var sa unix.RawSockaddrAny
	size := uint32(unix.SizeofSockaddrAny)
	// As package unix does it, but without garbage for each connection.
	if _, _, errno := unix.RawSyscall(unix.SYS_GETPEERNAME, uintptr(c.fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size))); errno != 0 {
		c.setPeer(netip.AddrPort{}) // it has gone already
		return
	}
	if sa.Addr.Family != unix.AF_UNIX {
		c.setPeer(reactor.ParseSockaddr(unsafe.Slice((*byte)(unsafe.Pointer(&sa)), size)))
		return
	}
	if size <= 2 { // the family alone: clients rarely bind
		return
	}
	if a, err := unix.Getpeername(c.fd); err == nil {
		c.more().path = &net.UnixAddr{Name: a.(*unix.SockaddrUnix).Name, Net: "unix"}
	}
}
