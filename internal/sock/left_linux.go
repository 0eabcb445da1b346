package sock

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// AcceptLeft accepts a connection that the kernel holds for a listening socket. The error is EAGAIN
// if there is none, and for a socket whose accept would wait for one.
func AcceptLeft(fd int) (int, syscall.Errno) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_NONBLOCK == 0 {
		err = unix.EAGAIN
	}
	for err == nil {
		var to int
		if to, _, err = unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC); err == nil {
			return to, 0
		}
		if err == unix.EINTR || err == unix.ECONNABORTED { // of this call, or of one connection
			err = nil
		}
	}
	return -1, err.(unix.Errno)
}

// Keep is another descriptor of a file; -1: there is none.
func Keep(fd int) int {
	kept, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return kept
}
