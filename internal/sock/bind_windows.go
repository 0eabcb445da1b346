package sock

import (
	"net"
	"syscall"

	"golang.org/x/sys/windows"
)

// Bind binds a socket that is to be connected to addr. One that is not bound here
// the reactor binds, as ConnectEx wants it.
func Bind(fd int, addr, local net.Addr) error {
	var sa windows.Sockaddr
	switch l := local.(type) {
	case *net.TCPAddr:
		remote, ok := binds(l, addr)
		if !ok {
			return mismatched(local)
		}
		var err error
		if sa, err = sockaddr(l.IP, l.Port, l.Zone, remote.IP.To4() == nil); err != nil {
			return err
		}
	case *net.UnixAddr:
		if _, ok := addr.(*net.UnixAddr); !ok {
			return mismatched(local)
		}
		sa = &windows.SockaddrUnix{Name: l.Name}
	default:
		return mismatched(local)
	}
	return callError("bind", windows.Bind(windows.Handle(fd), sa))
}

func sockaddr(ip net.IP, port int, zone string, wide bool) (windows.Sockaddr, error) {
	if !wide {
		sa := &windows.SockaddrInet4{Port: port}
		copy(sa.Addr[:], ip.To4()) // none: any
		return sa, nil
	}
	id, err := zoneOf(zone)
	if err != nil {
		return nil, err
	}
	sa := &windows.SockaddrInet6{Port: port, ZoneId: id}
	if !anyAddress(ip) {
		copy(sa.Addr[:], ip.To16())
	}
	return sa, nil
}

// NothingPending reports whether the system has nothing to tell of a connected socket: no bytes,
// no end, no error. The socket has been a reactor's, so it does not block.
func NothingPending(fd int) bool {
	var b [1]byte
	buf := windows.WSABuf{Len: 1, Buf: &b[0]}
	var got uint32
	flags := uint32(windows.MSG_PEEK)
	err := windows.WSARecv(windows.Handle(fd), &buf, 1, &got, &flags, nil, nil)
	return errnoOf(err) == syscall.EAGAIN
}
