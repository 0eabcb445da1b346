//go:build unix

package sock

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(zoned(a.Addr, a.ZoneId), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// LocalAddr is the address of a stream socket's own end; nil: it has none any more.
func LocalAddr(fd int) net.Addr {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return nil
	}
	if un, ok := sa.(*unix.SockaddrUnix); ok {
		return &net.UnixAddr{Name: un.Name, Net: "unix"}
	}
	return net.TCPAddrFromAddrPort(addrPort(sa))
}

// OfListener is a copy of a listener's descriptor, close-on-exec and
// non-blocking as the original is.
func OfListener(ln net.Listener) (int, error) {
	sc, ok := ln.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("conn: cannot listen on a %T: use a *net.TCPListener or a *net.UnixListener: %w", ln, errors.ErrUnsupported)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	cerr := raw.Control(func(orig uintptr) { fd, err = Duplicate(int(orig)) })
	if err = errors.Join(cerr, err); err != nil {
		return -1, err
	}
	// Accepted sockets inherit these, so that they cost nothing per connection.
	NoSignal(fd)
	if _, ok := ln.(*net.TCPListener); ok {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	return fd, nil
}

// forDial makes a stream socket of the family of an address, non-blocking and close-on-exec.
func forDial(addr net.Addr) (int, error) {
	family := unix.AF_INET
	switch a := addr.(type) {
	case *net.TCPAddr:
		if a.IP.To4() == nil {
			family = unix.AF_INET6
		}
	case *net.UnixAddr:
		family = unix.AF_UNIX
	default:
		return -1, fmt.Errorf("conn: cannot dial a %T: %w", addr, errors.ErrUnsupported)
	}
	fd, err := Socket(family, unix.SOCK_STREAM)
	if err != nil {
		return -1, Advise(err)
	}
	if family != unix.AF_UNIX {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	return fd, nil
}

// Duplicate is a close-on-exec duplicate of a descriptor.
func Duplicate(fd int) (int, error) {
	fd, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return fd, Advise(os.NewSyscallError("fcntl", err))
}

// Close closes a socket.
func Close(fd int) { _ = unix.Close(fd) }

// ShutdownWrite closes the sending direction.
func ShutdownWrite(fd int) error {
	return os.NewSyscallError("shutdown", unix.Shutdown(fd, unix.SHUT_WR))
}

// Lingers reports whether a socket's close may wait, which those that a listener accepts have from
// it.
func Lingers(fd int) bool {
	l, err := unix.GetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER)
	return err != nil || l.Onoff != 0
}

func shutdownBoth(fd int) error { return unix.Shutdown(fd, unix.SHUT_RDWR) }

// ResetOnClose makes close send a reset.
func ResetOnClose(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

func setsockopt(fd, level, option, value int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, level, option, value))
}

// SegmentSize is how many bytes of a TCP connection go into one segment; 0: unknown.
func SegmentSize(fd int) int {
	n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	if err != nil {
		return 0
	}
	return n
}

// SetNoDelay turns Nagle's algorithm off (true) or on.
func SetNoDelay(fd int, on bool) error {
	return setsockopt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, boolInt(on))
}

// SetReadBuffer sets the size of the kernel's receive buffer, in bytes.
func SetReadBuffer(fd, bytes int) error {
	return setsockopt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
}

// SetWriteBuffer sets the size of the kernel's send buffer, in bytes.
func SetWriteBuffer(fd, bytes int) error {
	return setsockopt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}

// SetKeepAlive is KeepAlive with an error that users are given.
func SetKeepAlive(fd int, k net.KeepAliveConfig) error {
	return os.NewSyscallError("setsockopt", KeepAlive(fd, k))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
