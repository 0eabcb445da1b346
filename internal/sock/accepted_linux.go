package sock

import (
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/reactor"
)

// Accepted returns the peer of an accepted socket: told, if the reactor has got it, else the kernel
// is queried. For a Unix socket the result is the path, which clients rarely have.
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

// askPeer returns the peer of a socket, as package unix does, but without garbage for each
// connection. The zero value: it is unknown. path is the length of the peer's path for a Unix
// socket, else -1.
func askPeer(fd int) (name netip.AddrPort, path int) {
	var sa unix.RawSockaddrInet6 // of a path, the beginning
	size := uint32(unsafe.Sizeof(sa))
	_, _, errno := unix.RawSyscall(unix.SYS_GETPEERNAME, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 { // ENOTCONN: after a reset this still knows
		for _, size = range []uint32{unix.SizeofSockaddrInet6, unix.SizeofSockaddrInet4} { // the option refuses a longer size
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
