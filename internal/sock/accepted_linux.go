package sock

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor"
)

// Accepted is who the peer of an accepted socket is: told, if the reactor was, else the kernel is
// asked. Of a Unix socket it is the path, which clients rarely have.
func Accepted(fd int, told netip.AddrPort) (peer netip.AddrPort, path string, local bool) {
	if told.IsValid() {
		return told, "", false
	}
	peer, length := askPeer(fd)
	if length > 0 {
		if a, err := unix.Getpeername(fd); err == nil {
			path = a.(*unix.SockaddrUnix).Name
		}
	}
	return peer, path, length >= 0
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
