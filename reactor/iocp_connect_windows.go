package reactor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// startConnect begins to connect by ConnectEx, whose end is a packet. Unix sockets and sockets of
// another completion port have no ConnectEx. For them it calls connect, and afd reports the end.
func (s *iocp) startConnect(k *socket, sa *rawSockaddr) syscall.Errno {
	if k.connect.flying {
		return syscall.EALREADY
	}
	k.outcome = 0
	at, err := connectEx()
	if err != nil || k.foreign || k.family != windows.AF_INET && k.family != windows.AF_INET6 {
		r, _, errno := syscall.SyscallN(procConnect.Addr(), uintptr(k.fd), uintptr(unsafe.Pointer(&sa.buf)), uintptr(sa.len))
		if errno := winsock(r, errno); errno != syscall.EAGAIN {
			return errno
		}
		return syscall.EINPROGRESS
	}
	anywhere, size := windows.RawSockaddrInet6{Family: uint16(k.family)}, uintptr(sizeofInet6) // ConnectEx requires a bound socket
	if k.family == windows.AF_INET {
		size = sizeofInet4
	}
	r, _, errno := syscall.SyscallN(procBind.Addr(), uintptr(k.fd), uintptr(unsafe.Pointer(&anywhere)), size)
	if errno := winsock(r, errno); errno != 0 && errno != syscall.EINVAL { // EINVAL: it is bound
		return errno
	}
	q := &k.connect
	q.ov = windows.Overlapped{}
	r, _, errno = syscall.SyscallN(at, uintptr(k.fd), uintptr(unsafe.Pointer(&sa.buf)), uintptr(sa.len), 0, 0, 0, uintptr(unsafe.Pointer(&q.ov)))
	switch {
	case r == 0 && errno != windows.ERROR_IO_PENDING:
		return Errno(errno)
	case r != 0 && k.skips:
		k.connected(0)
		return k.outcome
	}
	s.takesOff(q)
	return syscall.EINPROGRESS
}

// connected notes the result of a connect.
func (k *socket) connected(errno syscall.Errno) {
	if errno == 0 {
		errno = inherit(k.fd, windows.SO_UPDATE_CONNECT_CONTEXT, nil)
	}
	k.outcome = errno
}
