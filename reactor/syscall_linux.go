package reactor

import (
	"errors"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/suiro-go/suiro/internal/faults"
)

// A kernel makes a backend's system calls on sockets, and is where tests have them
// fail (see injector).
//
// The calls here are made on non-blocking descriptors and return within
// microseconds, so they go to the kernel without telling the Go scheduler,
// which would cost more than some of them take. Each returns the errno, and
// each is tried again on EINTR.
type kernel struct{ faults *injector } // nil: none

// next is what the coming call is to be made for, of n, or the errno it is to
// return without being made.
func (k kernel) next(call faults.Call, fd, n int) (int, syscall.Errno) {
	if k.faults == nil {
		return n, 0
	}
	return k.faults.next(call, fd, n)
}

func (k kernel) recv(fd int, p []byte) (int, syscall.Errno) { return k.read(faults.Recv, fd, p) }

func (k kernel) read(call faults.Call, fd int, p []byte) (int, syscall.Errno) {
	for {
		most, errno := k.next(call, fd, len(p))
		n := uintptr(0)
		if errno == 0 {
			n, _, errno = unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(most))
		}
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func (k kernel) send(fd int, p []byte) (int, syscall.Errno) {
	for {
		most, errno := k.next(faults.Send, fd, len(p))
		n := uintptr(0)
		if errno == 0 {
			n, _, errno = unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(most), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		}
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func (k kernel) accept(fd int) (int, syscall.Errno) {
	for {
		_, errno := k.next(faults.Accept, fd, 1)
		n := uintptr(0)
		if errno == 0 {
			n, _, errno = unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		}
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func (k kernel) recvmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	for {
		most, errno := k.next(faults.RecvFrom, fd, len(msgs))
		n := uintptr(0)
		if errno == 0 {
			n, _, errno = unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(most), unix.MSG_DONTWAIT, 0, 0)
		}
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func (k kernel) sendmmsg(fd int, msgs []mmsghdr) (int, syscall.Errno) {
	for {
		most, errno := k.next(faults.SendTo, fd, len(msgs))
		n := uintptr(0)
		if errno == 0 {
			n, _, errno = unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(most), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		}
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// connect is not tried again on EINTR: an interrupted connect goes on.
func (k kernel) connect(fd int, sa *rawSockaddr) syscall.Errno {
	_, fault := k.next(faults.Connect, fd, 1)
	if fault != 0 && fault != unix.EINTR {
		return fault
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&sa.buf)), uintptr(sa.len))
	if fault == unix.EINTR && (errno == 0 || errno == unix.EINPROGRESS) {
		return unix.EINTR
	}
	return errno
}

// control is epoll_ctl.
func (k kernel) control(epoll, op, fd int, ev *unix.EpollEvent) syscall.Errno {
	if _, errno := k.next(faults.Control, fd, 1); errno != 0 {
		return errno
	}
	if k.faults != nil {
		k.faults.registers(epoll, fd, ev)
	}
	var errno syscall.Errno
	_ = errors.As(unix.EpollCtl(epoll, op, fd, ev), &errno)
	return errno
}

// socketError takes the pending error of a socket.
func (k kernel) socketError(fd int) syscall.Errno {
	if _, errno := k.next(faults.SocketError, fd, 1); errno != 0 {
		return errno
	}
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return syscall.Errno(v)
}

// readyNow reports whether the descriptor has room to send, or else something to
// receive, or has an error or hung up. If it cannot be asked it counts as ready: the
// caller's call will tell.
func readyNow(fd int, out bool) bool {
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	if out {
		p.Events = unix.POLLOUT
	}
	var none kernelTimespec // zero in both layouts that 32-bit systems have
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
		if errno != unix.EINTR {
			return n > 0 || errno != 0
		}
	}
}

// closeFD closes; EINTR closes as well.
func closeFD(fd int) { _ = unix.Close(fd) }

// connected reports whether the socket has a peer.
func connected(fd int) bool {
	_, err := unix.Getpeername(fd)
	return err == nil
}

func isUnix(fd int) bool {
	var domain int32
	size := uint32(4)
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_DOMAIN,
		uintptr(unsafe.Pointer(&domain)), uintptr(unsafe.Pointer(&size)), 0)
	return errno == 0 && domain == unix.AF_UNIX
}

// kernelTimespec is __kernel_timespec, 64-bit on every architecture.
type kernelTimespec struct{ sec, nsec int64 }

func makeTimespec(d time.Duration) kernelTimespec {
	return kernelTimespec{sec: int64(d / time.Second), nsec: int64(d % time.Second)}
}
