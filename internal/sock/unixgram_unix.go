//go:build unix

package sock

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OfUnixConn is a copy of a socket's descriptor, close-on-exec and non-blocking as the original is.
func OfUnixConn(uc *net.UnixConn) (int, error) {
	raw, err := uc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	cerr := raw.Control(func(orig uintptr) { fd, err = Duplicate(int(orig)) })
	return fd, errors.Join(cerr, err)
}

// DialUnixgram is a datagram socket that is bound to a name, unless that is empty, and connected to
// another one.
func DialUnixgram(local, to string) (int, error) {
	fd, err := Socket(unix.AF_UNIX, unix.SOCK_DGRAM)
	if err != nil {
		return -1, Advise(err)
	}
	if local != "" {
		if err := bindUnix(fd, local); err != nil {
			Close(fd)
			return -1, os.NewSyscallError("bind", err)
		}
	}
	if err := connectUnix(fd, to); err != nil {
		Close(fd)
		return -1, os.NewSyscallError("connect", err)
	}
	return fd, nil
}

// bindUnix and connectUnix call package syscall, since package unix refuses an abstract name that
// fills the kernel's structure.

func bindUnix(fd int, name string) error { return syscall.Bind(fd, &syscall.SockaddrUnix{Name: name}) }

func connectUnix(fd int, name string) error {
	return syscall.Connect(fd, &syscall.SockaddrUnix{Name: name})
}

// ConnectUnix connects a Unix socket to a name. The error is EAGAIN while the listener's backlog is
// full: Linux says so, other systems refuse the connection.
func ConnectUnix(fd int, name string) syscall.Errno {
	for {
		switch err := connectUnix(fd, name); err {
		case unix.EINTR:
		case unix.EISCONN: // an interrupted connect went on
			return 0
		default:
			return errnoOf(err)
		}
	}
}

// InspectUnix finds out the names of both ends; empty: none. connected says that there is a peer.
func InspectUnix(fd int) (local, peer string, connected bool) {
	if sa, err := unix.Getsockname(fd); err == nil {
		local = unixName(sa)
	}
	sa, err := unix.Getpeername(fd)
	if err == nil {
		peer = unixName(sa)
	}
	return local, peer, err == nil
}

func unixName(sa unix.Sockaddr) string {
	if un, ok := sa.(*unix.SockaddrUnix); ok {
		return un.Name
	}
	return ""
}
