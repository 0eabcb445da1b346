package sock

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/suiro-go/suiro/reactor"
)

// family is the address family of a socket.
func family(fd int) int32 {
	var info windows.WSAProtocolInfo
	size := int32(unsafe.Sizeof(info))
	const protocolInfo = 0x2005 // SO_PROTOCOL_INFOW
	if err := windows.Getsockopt(windows.Handle(fd), windows.SOL_SOCKET, protocolInfo, (*byte)(unsafe.Pointer(&info)), &size); err != nil {
		return windows.AF_UNSPEC
	}
	return info.AddressFamily
}

func addrPort(sa windows.Sockaddr) netip.AddrPort {
	switch a := sa.(type) {
	case *windows.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *windows.SockaddrInet6:
		return netip.AddrPortFrom(zoned(a.Addr, a.ZoneId), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// LocalAddr is the address of a stream socket's own end; nil: it has none any more.
func LocalAddr(fd int) net.Addr {
	sa, err := windows.Getsockname(windows.Handle(fd))
	if err != nil {
		return nil
	}
	if un, ok := sa.(*windows.SockaddrUnix); ok {
		return &net.UnixAddr{Name: un.Name, Net: "unix"}
	}
	return net.TCPAddrFromAddrPort(addrPort(sa))
}

// A netSocket is one of package net's.
type netSocket interface {
	syscall.Conn
	File() (*os.File, error)
}

// dupSocket is a copy of the descriptor of one of package net's sockets, which belong to
// the completion port of Go's own poller. File frees them from that, for good, so that
// they can have another; where the system cannot do that (Wine 8) the reactor sees that
// they have one, and waits for them by other means.
func dupSocket(s netSocket) (int, error) {
	if f, err := s.File(); err == nil {
		_ = f.Close() // a copy, too, but one that closes as a file does
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	cerr := raw.Control(func(orig uintptr) { fd, err = Duplicate(int(orig)) })
	if err = errors.Join(cerr, err); err != nil {
		return -1, err
	}
	return fd, nil
}

// Duplicate is a duplicate of a socket's descriptor that processes do not inherit.
func Duplicate(fd int) (int, error) {
	var info windows.WSAProtocolInfo
	if err := windows.WSADuplicateSocket(windows.Handle(fd), uint32(os.Getpid()), &info); err != nil {
		return -1, callError("wsaduplicatesocket", err)
	}
	const asIs = -1 // FROM_PROTOCOL_INFO
	h, err := windows.WSASocket(asIs, asIs, asIs, &info, 0, socketFlags)
	if err != nil {
		return -1, callError("wsasocket", err)
	}
	return int(h), nil
}

// OfListener is a copy of a listener's descriptor.
func OfListener(ln net.Listener) (int, error) {
	s, ok := ln.(netSocket)
	if !ok {
		return -1, fmt.Errorf("conn: cannot listen on a %T: use a *net.TCPListener or a *net.UnixListener: %w", ln, errors.ErrUnsupported)
	}
	return dupSocket(s)
}

const socketFlags = windows.WSA_FLAG_OVERLAPPED | windows.WSA_FLAG_NO_HANDLE_INHERIT

// makeSocket makes a socket. It blocks in calls that are not overlapped until it has
// been a reactor's.
func makeSocket(family, kind int) (int, error) {
	h, err := windows.WSASocket(int32(family), int32(kind), 0, nil, 0, socketFlags)
	if err != nil {
		return -1, callError("wsasocket", err)
	}
	return int(h), nil
}

// forDial makes a stream socket of the family of an address, non-blocking and close-on-exec.
func forDial(addr net.Addr) (int, error) {
	family := windows.AF_INET
	switch a := addr.(type) {
	case *net.TCPAddr:
		if a.IP.To4() == nil {
			family = windows.AF_INET6
		}
	case *net.UnixAddr:
		family = windows.AF_UNIX
	default:
		return -1, fmt.Errorf("conn: cannot dial a %T: %w", addr, errors.ErrUnsupported)
	}
	fd, err := makeSocket(family, windows.SOCK_STREAM)
	if err == nil && family != windows.AF_UNIX {
		_ = SetNoDelay(fd, true)
	}
	return fd, err
}

// Close closes a socket.
func Close(fd int) { _ = windows.Closesocket(windows.Handle(fd)) }

func shutdownBoth(fd int) error { return windows.Shutdown(windows.Handle(fd), windows.SHUT_RDWR) }

// ShutdownWrite closes the sending direction.
func ShutdownWrite(fd int) error {
	err := windows.Shutdown(windows.Handle(fd), windows.SHUT_WR)
	if err != nil {
		switch errnoOf(err) {
		case syscall.ECONNRESET, syscall.ECONNABORTED: // as other systems say that the peer has reset it
			return Error("shutdown", syscall.ENOTCONN)
		}
	}
	return callError("shutdown", err)
}

// errnoOf is the portable number of a call's error.
func errnoOf(err error) syscall.Errno {
	errno, _ := err.(syscall.Errno)
	return reactor.Errno(errno)
}

// callError is Error for an error of package windows.
func callError(call string, err error) error {
	if err == nil {
		return nil
	}
	return Advise(os.NewSyscallError(call, Portable(err)))
}
