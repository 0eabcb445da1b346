//go:build unix

package sock

import (
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Bind binds a socket that is to be connected to addr.
func Bind(fd int, addr, local net.Addr) error {
	var sa unix.Sockaddr
	switch l := local.(type) {
	case *net.TCPAddr:
		remote, ok := binds(l, addr)
		if !ok {
			return mismatched(local)
		}
		if l.Port == 0 { // the port is chosen at connect, else a port serves only one peer
			LatePort(fd)
		}
		var err error
		if sa, err = tcpSockaddr(l, remote.IP.To4() == nil); err != nil {
			return err
		}
	case *net.UnixAddr:
		if _, ok := addr.(*net.UnixAddr); !ok {
			return mismatched(local)
		}
		name := l.Name
		if strings.HasPrefix(name, "@") {
			name = "\x00" + name[1:]
		}
		return os.NewSyscallError("bind", bindUnix(fd, name))
	default:
		return mismatched(local)
	}
	return os.NewSyscallError("bind", unix.Bind(fd, sa))
}

func tcpSockaddr(a *net.TCPAddr, wide bool) (unix.Sockaddr, error) {
	if !wide {
		sa := &unix.SockaddrInet4{Port: a.Port}
		copy(sa.Addr[:], a.IP.To4()) // none: any
		return sa, nil
	}
	zone, err := zoneOf(a.Zone)
	if err != nil {
		return nil, err
	}
	sa := &unix.SockaddrInet6{Port: a.Port, ZoneId: zone}
	if !anyAddress(a.IP) {
		copy(sa.Addr[:], a.IP.To16())
	}
	return sa, nil
}

// NothingPending reports whether the kernel has nothing to tell of a connected socket: no bytes,
// no end, no error.
func NothingPending(fd int) bool {
	var b [1]byte
	for {
		_, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch err {
		case unix.EINTR:
		case syscall.EAGAIN:
			return true
		default:
			return false
		}
	}
}
