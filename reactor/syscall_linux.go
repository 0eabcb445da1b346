package reactor

import (
	"errors"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls here are made on non-blocking descriptors and return within
// microseconds, so they go to the kernel without telling the Go scheduler,
// which would cost more than some of them take. Each returns the errno, and
// each is tried again on EINTR.

func recvNonblock(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func sendNonblock(fd int, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

func acceptNonblock(fd int) (int, syscall.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		if errno != unix.EINTR {
			return int(n), errno
		}
	}
}

// kernelTimespec is __kernel_timespec, 64-bit on every architecture.
type kernelTimespec struct{ sec, nsec int64 }

func makeTimespec(d time.Duration) kernelTimespec {
	return kernelTimespec{sec: int64(d / time.Second), nsec: int64(d % time.Second)}
}

// socketError takes the pending error of a socket.
func socketError(fd int) syscall.Errno {
	v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return syscall.Errno(v)
}

func connectNonblock(fd int, sa *rawSockaddr) syscall.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(&sa.buf)), uintptr(sa.len))
	return errno
}

// pollNonblock reports whether the descriptor is ready for what mask says, or has
// an error or hung up. If it cannot be asked it counts as ready: the caller's call
// will tell.
func pollNonblock(fd int, mask int16) bool {
	p := unix.PollFd{Fd: int32(fd), Events: mask}
	var none kernelTimespec // zero in both layouts that 32-bit systems have
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&none)), 0, 0, 0)
		if errno != unix.EINTR {
			return n > 0 || errno != 0
		}
	}
}

// connected reports whether the socket has a peer.
func connected(fd int) bool {
	_, err := unix.Getpeername(fd)
	return err == nil
}
